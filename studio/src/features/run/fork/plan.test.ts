import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { foldLog, type LogEvent } from "../../../events";
import { buildForkPlan } from "./plan";

const FIXTURE = `${import.meta.dirname}/../../../../../tests/fixtures/studio/agent.json`;
const { events } = JSON.parse(readFileSync(FIXTURE, "utf8")) as { events: LogEvent[] };

/** What a fork after an event does. */
function after(seq: number) {
  return buildForkPlan(foldLog(events.slice(0, seq + 1)));
}

it("before the first answer another text replaces the task", () => {
  expect(after(4)).toEqual({
    message: "Write a haiku about the sea.",
    replacesTask: true,
    reusedCalls: 0,
    executed: [],
    discarded: false,
  });
});

it("while an answer comes in, it is asked for anew", () => {
  expect(after(8)).toMatchObject({ replacesTask: true, discarded: true, executed: [] });
});

it("after an answer its calls are made, those that had begun again", () => {
  expect(after(17).executed.map((call) => [call.tool, call.again])).toEqual([
    ["look", false],
    ["look", false],
    ["no_such_tool", false],
  ]);
  expect(after(20)).toMatchObject({ reusedCalls: 2, replacesTask: false, discarded: false });
  expect(after(20).executed.map((call) => call.again)).toEqual([true, false]);
});

it("offers the last user message", () => {
  expect(after(20).message).toBe("be brief");
  expect(after(40).message).toBe("and kind");
});

it("at the end makes no call", () => {
  expect(after(70)).toMatchObject({ executed: [], discarded: false });
});
