// Fails when the first page needs more than its budget of JavaScript, or the whole app more than its own.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const INITIAL_KB = 150;
const WHOLE_KB = 1000;
const place = process.env.STUDIO_OUT ?? "../src/skills_runtime/studio_dist";
const dist = new URL(`../${place}/`, import.meta.url).pathname;
const assets = join(dist, "assets");

/** The files that the page names, and what they import without being asked. */
function initial() {
  const page = readFileSync(join(dist, "index.html"), "utf8");
  const found = new Set([...page.matchAll(/assets\/([\w.-]+\.js)/g)].map((match) => match[1]));
  // The words of one language are always needed too.
  for (const name of readdirSync(assets)) {
    if (/^en-.*\.js$/.test(name)) {
      found.add(name);
    }
  }
  for (const name of found) {
    const text = readFileSync(join(assets, name), "utf8");
    for (const match of text.matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g)) {
      found.add(match[1]);
    }
  }
  return [...found];
}

function whole(directory) {
  return readdirSync(directory).reduce((sum, name) => {
    const path = join(directory, name);
    const about = statSync(path);
    return sum + (about.isDirectory() ? whole(path) : about.size);
  }, 0);
}

const names = initial();
const gzipped =
  names.reduce((sum, name) => sum + gzipSync(readFileSync(join(assets, name))).length, 0) / 1000;
const all = whole(dist) / 1000;
process.stdout.write(
  `initial JavaScript ${gzipped.toFixed(1)} kB gzip of ${INITIAL_KB} (${names.length} files)\n`,
);
process.stdout.write(`everything ${all.toFixed(1)} kB of ${WHOLE_KB}\n`);
if (gzipped > INITIAL_KB || all > WHOLE_KB) {
  process.stderr.write("over the budget\n");
  process.exit(1);
}
