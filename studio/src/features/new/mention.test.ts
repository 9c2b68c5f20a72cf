import { expect, it } from "vitest";
import type { Skill } from "../../api/skills";
import { completed, fitting, mentionOf, typingAt } from "./mention";

const skill = (name: string, description = "", more: Partial<Skill> = {}): Skill => ({
  name,
  mention: `$[user].${name}`,
  description,
  namespace: "user",
  source: "",
  path: "",
  state: "offered",
  runnable: false,
  runtime: null,
  editable: false,
  ...more,
});

it("a dollar after a space begins a mention, one inside a word does not", () => {
  expect(typingAt("use $gr", 7)).toEqual({ from: 4, to: 7, typed: "gr" });
  expect(typingAt("$", 1)).toEqual({ from: 0, to: 1, typed: "" });
  expect(typingAt("用，$gr", 5)).toEqual({ from: 2, to: 5, typed: "gr" });
  expect(typingAt("costs US$gr", 11)).toBeNull();
  expect(typingAt("use $gr now", 11)).toBeNull();
});

it("a mention is found where the caret is", () => {
  expect(typingAt("use $gr now", 7)?.typed).toBe("gr");
  expect(typingAt("use $[user].gr", 14)?.typed).toBe("user].gr");
});

it("names that begin so come before names and descriptions that contain it", () => {
  const matches = fitting([skill("a", "to greet"), skill("regreet"), skill("greet"), skill("other")], "gree");
  expect(matches.map((match) => match.name)).toEqual(["greet", "regreet", "a"]);
});

it("an exact mention is completed by its namespace", () => {
  expect(fitting([skill("greet"), skill("other")], "user].gr").map((match) => match.name)).toEqual(["greet"]);
});

it("what is shadowed is not offered", () => {
  expect(fitting([skill("greet", "", { state: "shadowed" })], "gr")).toEqual([]);
});

it("a mention replaces what was typed and leaves the caret behind it", () => {
  const text = "use $gr now";
  const typing = typingAt(text, 7);
  expect(typing && completed(text, typing, "$[user].greet")).toEqual({
    text: "use $[user].greet now",
    caret: 18,
  });
  expect(completed("$gr", { from: 0, to: 3, typed: "gr" }, "$[user].greet")).toEqual({
    text: "$[user].greet ",
    caret: 14,
  });
});

it("a name that no exact mention can say is mentioned by itself", () => {
  expect(mentionOf({ name: "x", mention: "$[user].x" })).toBe("$x");
  expect(mentionOf({ name: "greet", mention: "$[user].greet" })).toBe("$[user].greet");
});
