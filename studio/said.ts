import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Plugin } from "vite";

const NAME = "virtual:said";
const PLACE = join(import.meta.dirname, "src/i18n/said/zh");

/** All that the service says, with its Chinese; one file for each part of the service. */
function sayings(): Record<string, string> {
  const names = readdirSync(PLACE).sort();
  return Object.assign({}, ...names.map((name) => JSON.parse(readFileSync(join(PLACE, name), "utf8"))));
}

/** The texts in two columns, which pack better than pairs. */
function columns(): string {
  const all = Object.entries(sayings()).sort(([left], [right]) => (left < right ? -1 : 1));
  return JSON.stringify([all.map(([english]) => english), all.map(([, chinese]) => chinese)]);
}

/** Hands `virtual:said` to the app: packed in a file of its own, which only a page in Chinese fetches. */
export function said(): Plugin {
  let built = false;
  return {
    name: "said",
    configResolved(config) {
      built = config.command === "build";
    },
    resolveId: (id) => (id === NAME ? `\0${NAME}` : undefined),
    load(id) {
      if (id !== `\0${NAME}`) {
        return undefined;
      }
      if (!built) {
        return `export const columns = async () => ${columns()};`;
      }
      const source = gzipSync(columns(), { level: 9 });
      const file = `said-zh-${createHash("sha256").update(source).digest("hex").slice(0, 8)}.bin`;
      this.emitFile({ type: "asset", fileName: `assets/${file}`, source });
      return `export async function columns() {
        const answer = await fetch(import.meta.url.replace(/[^/]*$/, ${JSON.stringify(file)}));
        return new Response(answer.body.pipeThrough(new DecompressionStream("gzip"))).json();
      }`;
    },
  };
}
