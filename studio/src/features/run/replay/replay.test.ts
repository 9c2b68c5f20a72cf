import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { foldLog, type LogEvent } from "../../../events";
import { countUpTo, nextStep, Replay } from "./replay";

const FIXTURE = `${import.meta.dirname}/../../../../../tests/fixtures/studio/agent.json`;
const { events } = JSON.parse(readFileSync(FIXTURE, "utf8")) as { events: LogEvent[] };

function makeEvents(count: number): LogEvent[] {
  return Array.from({ length: count }, (_, seq) => ({
    seq,
    type: seq % 2 ? "tool_call_finished" : "tool_call_requested",
    timestamp: new Date(seq * 100).toISOString(),
    run_id: "r",
    payload: { call_id: `c${seq >> 1}`, tool: "look", name: "look", result: { ok: true } },
  }));
}

describe("a replay", () => {
  it("shows at each event what a fold of the beginning shows, forwards and backwards", () => {
    const replay = new Replay();
    replay.take(events);
    for (const at of [0, 5, 12, 40, 70, 33, 2, 69]) {
      expect(replay.at(at)).toEqual(foldLog(events.slice(0, at + 1)));
    }
  });

  it("before the first event is empty, and after the last is whole", () => {
    const replay = new Replay();
    replay.take(events);
    expect(replay.at(-1).items).toEqual([]);
    expect(replay.at(9999)).toEqual(foldLog(events));
  });

  it("of ten thousand events goes anywhere without folding everything again", () => {
    const log = makeEvents(10_000);
    const replay = new Replay();
    replay.take(log);
    expect(replay.at(9_999).state.tool_calls).toBe(5000);
    expect(replay.at(5_001).state.tool_calls).toBe(2501);
    const view = replay.at(5_003);
    expect(view.items[0]).toBe(replay.at(9_000).items[0]);
  });

  it("goes on when the log grows, and begins anew with another log", () => {
    const log = makeEvents(1000);
    const replay = new Replay();
    replay.take(log.slice(0, 500));
    const before = replay.at(450).items[0];
    replay.take(log);
    expect(replay.at(900).items[0]).toBe(before);
    replay.take(events);
    expect(replay.at(20)).toEqual(foldLog(events.slice(0, 21)));
  });
});

describe("the playhead", () => {
  it("counts events up to a number", () => {
    const log = makeEvents(10).filter((event) => event.seq !== 4);
    expect([-1, 0, 3, 4, 5, 99].map((seq) => countUpTo(log, seq))).toEqual([0, 1, 4, 4, 5, 9]);
  });

  it("waits as long as it took, divided by the speed", () => {
    expect(nextStep(makeEvents(10), 0, 1)).toEqual({ seq: 1, wait: 100 });
    expect(nextStep(makeEvents(10), 0, 4)).toEqual({ seq: 1, wait: 25 });
  });

  it("takes events of one moment together", () => {
    expect(nextStep(makeEvents(100), 0, 16)).toEqual({ seq: 3, wait: 18.75 });
  });

  it("cuts long pauses, and stops at the end", () => {
    const log = [
      makeEvents(1)[0] as LogEvent,
      { ...(makeEvents(2)[1] as LogEvent), timestamp: "1970-01-02T00:00:00Z" },
    ];
    expect(nextStep(log, 0, 1)?.wait).toBe(2000);
    expect(nextStep(log, 1, 1)).toBeNull();
  });

  it("jumps in steps of at least a second for who wants little motion", () => {
    expect(nextStep(makeEvents(100), 0, 1, 1000)).toEqual({ seq: 10, wait: 1000 });
  });
});
