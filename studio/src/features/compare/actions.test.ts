import { expect, it } from "vitest";
import type { ComparedRow } from "../../api/comparison";
import { firstDifference, formatAction, pairActions } from "./actions";

const task = { kind: "task", what: '"Write a haiku."' } as const;
const row = (op: ComparedRow["op"], a: ComparedRow["a"], b: ComparedRow["b"]): ComparedRow => ({ op, a, b });

it("a quoted text is shown without its quotes", () => {
  expect(formatAction(task)).toBe("Write a haiku.");
  expect(formatAction({ kind: "answer", what: '"two\\nlines"' })).toBe("two\nlines");
});

it("a call is shown with its arguments below its name", () => {
  expect(formatAction({ kind: "call", what: 'shell {"command": "ls"}' })).toBe(
    'shell\n{\n  "command": "ls"\n}',
  );
  expect(formatAction({ kind: "call", what: "cut {" })).toBe("cut\n{");
});

it("the first difference is the first row that is not equal", () => {
  expect(firstDifference([row("equal", [task], [task]), row("insert", [], [task])])).toBe(1);
  expect(firstDifference([row("equal", [task], [task])])).toBe(-1);
});

it("the shorter side ends with nothing", () => {
  expect(pairActions(row("replace", [task], [task, task]))).toEqual([
    [task, task],
    [undefined, task],
  ]);
});
