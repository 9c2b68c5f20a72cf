import { describe, expect, it } from "vitest";
import { isTooLarge, previewKind, readCsv } from "./preview";

describe("how a file is shown", () => {
  it.each([
    ["deliverables/report.md", "text/markdown", "markdown"],
    ["a/b.JSON", "application/json", "json"],
    ["page.html", "text/html", "html"],
    ["drawing.svg", "image/svg+xml", "html"],
    ["photo.png", "image/png", "image"],
    ["paper.pdf", "application/pdf", "pdf"],
    ["table.tsv", "text/tab-separated-values", "csv"],
    ["main.py", "text/x-python", "text"],
    ["notes", "text/plain", "text"],
    ["archive.zip", "application/zip", "none"],
    ["page.html.zip", "application/zip", "none"],
  ])("%s is %s, so %s", (name, type, kind) => {
    expect(previewKind(name, type)).toBe(kind);
  });

  it("is not at all when it is too large, but a text always has a beginning", () => {
    expect(isTooLarge("image", 30_000_000)).toBe(true);
    expect(isTooLarge("image", 1000)).toBe(false);
    expect(isTooLarge("text", 1e12)).toBe(false);
  });
});

describe("a table in text", () => {
  it("may have quotes, commas and line breaks in its cells", () => {
    const { rows } = readCsv('name,said\r\nAnna,"well, ""yes""\nno"\n\nBo,', ",", 10);
    expect(rows).toEqual([
      ["name", "said"],
      ["Anna", 'well, "yes"\nno'],
      ["Bo", ""],
    ]);
  });

  it("is cut after many rows, and says so", () => {
    expect(readCsv("a\nb\nc\n", ",", 2)).toEqual({ rows: [["a"], ["b"]], complete: false });
    expect(readCsv("a\tb\n", "\t", 5)).toEqual({ rows: [["a", "b"]], complete: true });
  });
});
