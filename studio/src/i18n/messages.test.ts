import { describe, expect, it } from "vitest";
import { words as english } from "./en";
import { formatMessage } from "./icu";
import { words as chinese } from "./zh";

describe("an ICU message", () => {
  it("is filled with texts and numbers, and keeps what they hold", () => {
    expect(formatMessage("a {x} b {y}", { x: "{y}", y: 1234 }, "en")).toBe("a {y} b 1,234");
    expect(formatMessage("{x}", { x: { no: "text" } }, "en")).toBe("none");
  });

  it("chooses by a word, also when there is none", () => {
    const message = "{what, select, run {no run {name}} none {nothing} other {no {what}}}";
    expect(formatMessage(message, { what: "run", name: "a" }, "en")).toBe("no run a");
    expect(formatMessage(message, { what: "key" }, "en")).toBe("no key");
    expect(formatMessage(message, {}, "en")).toBe("nothing");
    expect(formatMessage("{what, select, run {x} other {y}}", { what: "constructor" }, "en")).toBe("y");
  });

  it("chooses by a number as the language does", () => {
    const message = "{n, plural, =0 {none} one {# step} other {# steps}}";
    expect([0, 1, 2].map((n) => formatMessage(message, { n }, "en"))).toEqual(["none", "1 step", "2 steps"]);
    expect(formatMessage(message, { n: 1 }, "zh-CN")).toBe("1 steps");
  });

  it.each(["{", "{x", "a}", "{x, select, a {b}", "{x, date}"])(
    "that is malformed is refused: %s",
    (message) => {
      expect(() => formatMessage(message, {}, "en")).toThrow(/ICU/);
    },
  );
});

describe.each([
  ["en", english],
  ["zh-CN", chinese],
] as const)("every message in %s", (language, { messages }) => {
  it.each(Object.entries({ ...messages.errors, ...messages.notices }))("is well-formed: %s", (_, message) => {
    expect(formatMessage(message, {}, language).trim()).not.toBe("");
  });
});
