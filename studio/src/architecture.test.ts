import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, it } from "vitest";

const ROOT = import.meta.dirname;
const MAX_LINES = 250;
const ALLOWED_IMPORTS: Record<string, readonly string[]> = {
  lib: ["lib"],
  i18n: ["i18n", "lib"],
  api: ["api", "events", "lib"],
  events: ["events", "api", "ui", "i18n", "lib"],
  ui: ["ui", "api", "i18n", "lib"],
};

function files(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? files(path) : /\.tsx?$/.test(entry.name) ? [path] : [];
  });
}

const sources = files(ROOT).map((path) => ({ name: relative(ROOT, path), text: readFileSync(path, "utf8") }));
const own = sources.filter(({ name }) => name !== "api/schema.ts");

/** What a file imports, as paths from the root of the sources. */
function imports(name: string, text: string): string[] {
  const matches = [...text.matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)];
  return matches.map((match) => relative(ROOT, join(ROOT, name, "..", match[1] ?? "")));
}

it("no feature imports another one, a route or the app", () => {
  const wrong = own.flatMap(({ name, text }) => {
    const [top, feature] = name.split("/");
    return top !== "features"
      ? []
      : imports(name, text)
          .filter((path) => /^(features|routes|app)\//.test(path) && !path.startsWith(`features/${feature}/`))
          .map((path) => `${name} imports ${path}`);
  });
  expect(wrong).toEqual([]);
});

it("what is general imports nothing that is special", () => {
  const wrong = own.flatMap(({ name, text }) => {
    const allowed = ALLOWED_IMPORTS[name.split("/")[0] ?? ""];
    return allowed && !/\.test\./.test(name)
      ? imports(name, text)
          .filter((path) => !allowed.includes(path.split("/")[0] ?? ""))
          .map((path) => `${name} imports ${path}`)
      : [];
  });
  expect(wrong).toEqual([]);
});

it("no file is too long", () => {
  const long = own.filter(({ name, text }) => name !== "ui/icons.tsx" && text.split("\n").length > MAX_LINES);
  expect(long.map(({ name }) => name)).toEqual([]);
});

it("nothing puts foreign text into the page as HTML", () => {
  const wrong = own.filter(
    ({ name, text }) =>
      name !== "architecture.test.ts" && /innerHTML|insertAdjacentHTML|document\.write/i.test(text),
  );
  expect(wrong.map(({ name }) => name)).toEqual([]);
});

it("only api/ talks to the server", () => {
  const wrong = own.filter(
    ({ name, text }) =>
      !/^(api\/|testing)/.test(name) &&
      !/\.test\./.test(name) &&
      /\bfetch\(|EventSource|XMLHttpRequest/.test(text),
  );
  expect(wrong.map(({ name }) => name)).toEqual([]);
});
