import { expect, it } from "vitest";
import type { LogEvent, QuestionItem, TranscriptItem } from "../../events";
import { foldLog } from "../../events";
import { displayStatus } from "./displayStatus";
import { filterMatches } from "./search/find";
import { findStep } from "./steps";
import { sizeOf, summarizeArguments } from "./transcript/callSummary";
import { buildParts } from "./transcript/questionParts";
import { findNextResult } from "./useRunSearch";
import { countTo, findItemIndex } from "./useViewAt";

function log(...entries: [string, Record<string, unknown>][]): LogEvent[] {
  return entries.map(([type, payload], seq) => ({
    seq,
    type,
    payload,
    timestamp: "2026-01-01T00:00:00Z",
    run_id: "run_1",
  }));
}

const EVENTS = log(
  ["run_started", { task: "Clean up." }],
  ["llm_request_started", { model: "m" }],
  ["llm_response_delta", { delta_type: "text", text: 'I "look" first' }],
  ["tool_call_requested", { call_id: "c1", tool: "shell", name: "shell", arguments: { command: "ls -la" } }],
  ["llm_response_finished", { finish_reason: "tool_calls" }],
  ["approval_requested", { approval_key: "k", approval_id: "a", tool: "shell", call_id: "c1" }],
);

it("a run with an open request waits for you, even while it runs", () => {
  const view = foldLog(EVENTS);
  expect(view.state.status).not.toBe("waiting_for_user");
  expect(displayStatus(view)).toBe("waiting_for_user");
});

it("events are counted up to a number, with gaps", () => {
  const events = [{ seq: 0 }, { seq: 3 }, { seq: 7 }];
  expect([-1, 0, 2, 3, 9].map((at) => countTo(events, at))).toEqual([0, 1, 1, 2, 3]);
});

it("an event belongs to the item that it began or changed last", () => {
  const { items } = foldLog(EVENTS);
  const kinds = [0, 2, 3, 5].map((seq) => items[findItemIndex(items, seq)]?.kind);
  expect(kinds).toEqual(["user", "assistant", "call", "call"]);
});

it("steps go from call to call and entries leave out small facts", () => {
  const items = [
    { kind: "user", seq: 0 },
    { kind: "notice", seq: 1 },
    { kind: "call", seq: 2 },
    { kind: "assistant", seq: 5 },
    { kind: "call", seq: 6 },
  ] as TranscriptItem[];
  expect(findStep(items, undefined, 1, true)).toBe(2);
  expect(findStep(items, 2, 1, true)).toBe(6);
  expect(findStep(items, 6, -1, true)).toBe(2);
  expect(findStep(items, 0, 1, false)).toBe(2);
  expect(findStep(items, 6, 1, true)).toBeUndefined();
});

it("a search finds all words in any order, quotes too", () => {
  const { items } = foldLog(EVENTS);
  expect(filterMatches(items, "LS -la").map((item) => item.kind)).toEqual(["call"]);
  expect(filterMatches(items, '"look"').map((item) => item.kind)).toEqual(["assistant"]);
  expect(filterMatches(items, "   ")).toEqual([]);
});

it("the next search result wraps around at the ends", () => {
  expect(findNextResult([2, 5, 9], undefined, 1)).toBe(2);
  expect(findNextResult([2, 5, 9], 5, 1)).toBe(9);
  expect(findNextResult([2, 5, 9], 9, 1)).toBe(2);
  expect(findNextResult([2, 5, 9], 2, -1)).toBe(9);
  expect(findNextResult([], 2, 1)).toBeUndefined();
});

it("a call is summarized by its preferred argument, in one line", () => {
  expect(summarizeArguments({ limit: 3, command: "ls\n  -la" })).toBe("ls -la");
  expect(summarizeArguments({ argv: ["git", "status"] })).toBe("git status");
  expect(summarizeArguments({ other: "x" })).toBe("x");
  expect(summarizeArguments({ n: 1 })).toBe("");
  expect(sizeOf({ a: "ü" })).toBe(10);
});

it("a question that was asked alone has one part, several have their own", () => {
  const base = { question: "Which?", choices: ["a"], questions: [] } as unknown as QuestionItem;
  expect(buildParts(base)).toEqual([
    { id: "answer", question: "Which?", choices: [{ label: "a", description: "" }] },
  ]);
  const several = {
    ...base,
    questions: [{ id: "x", header: "H", question: "Q", choices: [{ label: "l", description: "d" }] }],
  };
  expect(buildParts(several)).toEqual([
    { id: "x", question: "H: Q", choices: [{ label: "l", description: "d" }] },
  ]);
});
