import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { foldLog, type LogEvent } from "../../../events";
import { buildLayout, findBar } from "./rows";

const PLACE = `${import.meta.dirname}/../../../../../tests/fixtures/studio/`;

function eventsOf(name: string): LogEvent[] {
  return JSON.parse(readFileSync(`${PLACE}${name}.json`, "utf8")).events;
}

const agent = buildLayout(foldLog(eventsOf("agent")), 0);

it("a call is one row with what it waited for", () => {
  const { rows } = buildLayout(foldLog(eventsOf("complete")), 0);
  const written = rows.find((row) => row.label === "file_write");
  expect(written?.kind).toBe("tool");
  expect(written?.bars.map((bar) => [bar.kind, bar.state])).toEqual([
    ["waiting", "approved"],
    ["tool", "done"],
  ]);
});

it("a call that was begun again after a pause has no bar that never ends", () => {
  const row = agent.rows.find((row) => row.label === "ask_human");
  expect(row?.bars.map((bar) => [bar.kind, bar.state])).toEqual([
    ["tool", "stopped"],
    ["waiting", "answered"],
    ["tool", "done"],
  ]);
  expect(agent.rows.flatMap((row) => row.bars).every((bar) => bar.to >= bar.from)).toBe(true);
});

it("what is denied looks so, and what is open reaches until now", () => {
  const events = eventsOf("deciding");
  const denied = buildLayout(foldLog(events), 0).rows.flatMap((row) => row.bars.map((bar) => bar.state));
  expect(denied).toContain("denied");
  const now = Date.parse(events[10]?.timestamp ?? "") + 60_000;
  const { rows } = buildLayout(foldLog(events.slice(0, 11)), now);
  expect(rows.at(-1)?.bars.at(-1)).toMatchObject({ state: "running", to: now });
});

it("an event belongs to the bar it begins, or to the latest around it", () => {
  expect(findBar(agent.rows, 18)?.seq).toBe(18);
  expect(findBar(agent.rows, 11)?.seq).toBe(10);
  expect(findBar(agent.rows, undefined)).toBeUndefined();
  expect(findBar(agent.rows, 0)).toBeUndefined();
});

it("a run without bars has an axis all the same", () => {
  expect(buildLayout(foldLog([]), 0).rows).toEqual([]);
});
