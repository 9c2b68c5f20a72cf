import { describe, expect, it } from "vitest";
import { argumentsText, readArguments } from "./readArguments";

describe("edited arguments", () => {
  it("are an object", () => {
    expect(readArguments('{"a": [1, {"b": null}], "c": "\\u00e4"}').value).toEqual({
      a: [1, { b: null }],
      c: "ä",
    });
    expect(readArguments("[1]").problem).toEqual({ kind: "object" });
    expect(readArguments("null").problem).toEqual({ kind: "object" });
  });

  it.each([
    ["", 1, 1],
    ['{\n  "command": \n}', 3, 1],
    ['{"a": 1,}', 1, 9],
    ["{'a': 1}", 1, 2],
    ['{"a" 1}', 1, 6],
    ['{"a": [1 2]}', 1, 10],
    ['{"a": 1} x', 1, 10],
    ['{"a": "unfinished', 1, 7],
    ['{"a": "line\nbreak"}', 1, 7],
  ])("that are no JSON are told where: %j", (text, line, column) => {
    expect(readArguments(text).problem).toEqual({ kind: "json", line, column });
  });

  it("are no problem however deep", () => {
    expect(readArguments("[".repeat(100_000)).problem?.kind).toBe("json");
  });

  it("are written the same way each time", () => {
    expect(argumentsText({ a: 1 })).toBe('{\n  "a": 1\n}\n');
  });
});
