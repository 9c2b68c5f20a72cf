import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { words as english } from "./en";
import { words as chinese } from "./zh";

type Leaf = [path: string, value: unknown];

function leaves(value: unknown, path = ""): Leaf[] {
  return typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([name, child]) => leaves(child, path ? `${path}.${name}` : name))
    : [[path, value]];
}

/** All sources except the dictionaries and the tests. */
function sources(directory: string): string {
  return readdirSync(directory, { withFileTypes: true })
    .map((entry) => {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) {
        return /i18n.(en|zh)$/.test(path) ? "" : sources(path);
      }
      return /\.tsx?$/.test(entry.name) && !/\.test\./.test(entry.name) ? readFileSync(path, "utf8") : "";
    })
    .join("\n");
}

/** A text counts as used where its name is read, or where one is chosen from its group by a variable. */
function isUsed(path: string, text: string): boolean {
  const names = path.split(".").slice(1);
  const last = names.at(-1) ?? "";
  const groups = names.slice(0, -1);
  return (
    new RegExp(`\\.${last}\\b|\\["${last}"\\]|\\{[^{}]*\\b${last}\\b[^{}]*\\} = `).test(text) ||
    groups.some((group) => new RegExp(`\\.${group}\\b(\\)? as \\w+\\))?\\??\\.?\\[`).test(text)) ||
    (/\b(words|t)\[/.test(text) && text.includes(`"${last}"`))
  );
}

describe("the dictionaries", () => {
  it("have the same names in both languages", () => {
    const names = (all: unknown) =>
      leaves(all)
        .map(([path, value]) => `${path}: ${typeof value}`)
        .sort();
    expect(names(chinese)).toEqual(names(english));
  });

  it.each([
    ["en", english],
    ["zh", chinese],
  ])("have no empty text in %s", (_name, all) => {
    const texts = leaves(all).map(([path, value]) => [
      path,
      typeof value === "function" ? String(value(2, 3)) : value,
    ]);
    expect(texts.filter(([, text]) => typeof text !== "string" || text.trim() === "")).toEqual([]);
  });

  it("have no untranslated text in Chinese", () => {
    const same = new Set(["shell.product"]);
    const texts = new Map(leaves(english));
    const untranslated = leaves(chinese).filter(
      ([path, value]) =>
        typeof value === "string" && /[a-z]{4}/i.test(value) && value === texts.get(path) && !same.has(path),
    );
    expect(untranslated.map(([path]) => path)).toEqual([]);
  });

  it("have no unused text", () => {
    const text = sources(join(import.meta.dirname, ".."));
    expect(
      leaves(english)
        .map(([path]) => path)
        .filter((path) => !isUsed(path, text)),
    ).toEqual([]);
  });
});
