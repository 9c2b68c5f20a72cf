import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { foldEvents, foldLog } from "./fold";
import type { CallItem } from "./items";
import type { LogEvent } from "./types";
import { EMPTY_VIEW, type RunView, type Span } from "./view";

const PLACE = `${import.meta.dirname}/../../../tests/fixtures/studio/`;

interface Fixture {
  events: LogEvent[];
  expected: Record<string, unknown> & { spans: Record<string, unknown>[] };
}

const fixtures = readdirSync(PLACE)
  .filter((name) => name.endsWith(".json"))
  .map((name): [string, Fixture] => [name, JSON.parse(readFileSync(PLACE + name, "utf8"))]);

/** A view in the words of the fixtures. */
function summarize(view: RunView, expectedSpans: Record<string, unknown>[]) {
  const calls = view.items.filter((item): item is CallItem => item.kind === "call" && item.accepted);
  const fork = view.state.fork;
  return {
    state: { ...view.state, fork: fork ? { run_id: fork.run_id, seq: fork.seq } : null },
    pending_approvals: view.approvals.map((approval) => approval.approval_id),
    questions: view.questions.map((question) => question.call_id),
    answers: view.items.flatMap((item) =>
      item.kind === "assistant" && item.complete && !item.discarded ? [item.text] : [],
    ),
    tool_calls: calls.map(({ call_id, tool, state }) => ({ call_id, tool, state })),
    plan: view.plan,
    skills: view.skills,
    children: Object.fromEntries(
      view.items.flatMap((item) => (item.kind === "child" ? [[item.run_id, item.status]] : [])),
    ),
    spans: view.spans.map((span, index) => only(span, Object.keys(expectedSpans[index] ?? {}))),
  };
}

function only(span: Span, names: string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, span[name as keyof Span]]));
}

describe.each(fixtures)("%s", (_name, { events, expected }) => {
  it("folds to what the server's projections say", () => {
    expect(summarize(foldLog(events), expected.spans)).toEqual(expected);
  });

  it("folds to the same in pieces, and leaves the pieces as they were", () => {
    let view = EMPTY_VIEW;
    const before = JSON.stringify(EMPTY_VIEW);
    for (const event of events) {
      const earlier = JSON.stringify(view.items);
      const next = foldEvents(view, [event]);
      expect(JSON.stringify(view.items)).toBe(earlier);
      view = next;
    }
    expect(view).toEqual(foldLog(events));
    expect(JSON.stringify(EMPTY_VIEW)).toBe(before);
  });

  it("gives every item its own key", () => {
    const keys = foldLog(events).items.map((item) => item.key);
    expect(new Set(keys).size).toBe(keys.length);
  });
});

it("keeps the identity of items that an event does not touch", () => {
  const events = fixtures.find(([name]) => name === "deciding.json")?.[1].events ?? [];
  const before = foldLog(events.slice(0, -1));
  const after = foldEvents(before, events.slice(-1));
  expect(after.items[0]).toBe(before.items[0]);
});

it("folds ten thousand events quickly enough for one frame each batch", () => {
  const many = Array.from(
    { length: 10_000 },
    (_, seq): LogEvent => ({
      seq,
      type: seq % 2 ? "tool_call_finished" : "tool_call_requested",
      timestamp: "2026-01-01T00:00:00Z",
      run_id: "r",
      payload: { call_id: `c${seq >> 1}`, tool: "look", name: "look", result: { ok: true } },
    }),
  );
  expect(foldLog(many).state.tool_calls).toBe(5000);
});

it("ignores events it does not know", () => {
  const event = {
    seq: 0,
    type: "from_the_future",
    timestamp: "2026-01-01T00:00:00Z",
    run_id: "r",
    payload: {},
  };
  expect(foldLog([event]).items).toEqual([]);
  expect(foldLog([event]).state.last_seq).toBe(0);
});
