import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { words as english } from "./en";
import { formatMessage } from "./icu";
import { words as chinese } from "./zh";

interface Example {
  message: string;
  values: Record<string, unknown>;
  language: "en" | "zh";
  text: string;
}

/** The examples that the command line's own formatter is tested with too. */
const examples: { messages: Example[]; malformed: string[] } = JSON.parse(
  readFileSync(`${import.meta.dirname}/../../../tests/fixtures/messages/icu.json`, "utf8"),
);

describe("an ICU message", () => {
  it.each(examples.messages)("$message in $language is $text", ({ message, values, language, text }) => {
    expect(formatMessage(message, values, language === "zh" ? "zh-CN" : "en")).toBe(text);
  });

  it.each(examples.malformed)("that is malformed is refused: %s", (message) => {
    expect(() => formatMessage(message, {}, "en")).toThrow(/ICU/);
  });
});

describe.each([
  ["en", english],
  ["zh-CN", chinese],
] as const)("every message in %s", (language, { messages }) => {
  it.each(Object.entries({ ...messages.errors, ...messages.notices }))("is well-formed: %s", (_, message) => {
    expect(formatMessage(message, {}, language).trim()).not.toBe("");
  });
});
