import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";

/** Names that say nothing about what they hold. */
const VAGUE_NAMES: ReadonlySet<string> = new Set(
  "one found place wanted told said kept meant asked known".split(" "),
);
const SOURCES = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }).filter((path) =>
  /\.tsx?$/.test(path),
);

function findVagueNames(path: string): string[] {
  const text = readFileSync(join(import.meta.dirname, path), "utf8");
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const matches: string[] = [];
  const visit = (node: ts.Node): void => {
    if (
      (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) &&
      VAGUE_NAMES.has(node.text.replace(/^#/, ""))
    ) {
      matches.push(`${path}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${node.text}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return matches;
}

it("reads the sources", () => {
  expect(SOURCES.length).toBeGreaterThan(300);
});

it("no identifier is a vague name", () => {
  expect(SOURCES.flatMap(findVagueNames)).toEqual([]);
});
