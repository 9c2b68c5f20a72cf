import { expect, it } from "vitest";
import type { Skill } from "../../api/skills";
import { filterSkills, findMentionAt, insertMention, mentionOf } from "./mention";

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
  expect(findMentionAt("use $gr", 7)).toEqual({ from: 4, to: 7, typed: "gr" });
  expect(findMentionAt("$", 1)).toEqual({ from: 0, to: 1, typed: "" });
  expect(findMentionAt("用，$gr", 5)).toEqual({ from: 2, to: 5, typed: "gr" });
  expect(findMentionAt("costs US$gr", 11)).toBeNull();
  expect(findMentionAt("use $gr now", 11)).toBeNull();
});

it("a mention is found where the caret is", () => {
  expect(findMentionAt("use $gr now", 7)?.typed).toBe("gr");
  expect(findMentionAt("use $[user].gr", 14)?.typed).toBe("user].gr");
});

it("names that begin so come before names and descriptions that contain it", () => {
  const matches = filterSkills(
    [skill("a", "to greet"), skill("regreet"), skill("greet"), skill("other")],
    "gree",
  );
  expect(matches.map((match) => match.name)).toEqual(["greet", "regreet", "a"]);
});

it("built-in skills come after the others", () => {
  const matches = filterSkills(
    [skill("alpha", "", { state: "built-in" }), skill("beta"), skill("gamma")],
    "",
  );
  expect(matches.map((match) => match.name)).toEqual(["beta", "gamma", "alpha"]);
});

it("an exact mention is completed by its namespace", () => {
  expect(filterSkills([skill("greet"), skill("other")], "user].gr").map((match) => match.name)).toEqual([
    "greet",
  ]);
});

it("what is shadowed is not offered", () => {
  expect(filterSkills([skill("greet", "", { state: "shadowed" })], "gr")).toEqual([]);
});

it("a mention replaces what was typed and leaves the caret behind it", () => {
  const text = "use $gr now";
  const typing = findMentionAt(text, 7);
  expect(typing && insertMention(text, typing, "$[user].greet")).toEqual({
    text: "use $[user].greet now",
    caret: 18,
  });
  expect(insertMention("$gr", { from: 0, to: 3, typed: "gr" }, "$[user].greet")).toEqual({
    text: "$[user].greet ",
    caret: 14,
  });
});

it("a name that no exact mention can say is mentioned by itself", () => {
  expect(mentionOf({ name: "x", mention: "$[user].x" })).toBe("$x");
  expect(mentionOf({ name: "greet", mention: "$[user].greet" })).toBe("$[user].greet");
});
