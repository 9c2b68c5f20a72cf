import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LogEvent } from "../events/types";
import { FrameReader } from "./frames";
import { type Connection, followRun } from "./sse";

function event(seq: number, type = "plan_updated"): LogEvent {
  return { seq, type, timestamp: "2026-01-01T00:00:00Z", run_id: "r", payload: {} };
}

function message(logEvent: LogEvent): string {
  return `id: ${logEvent.seq}\nevent: ${logEvent.type}\ndata: ${JSON.stringify(logEvent)}\n\n`;
}

/** A server that answers each connection with the next of these. */
function serve(...answers: (() => Response)[]): string[] {
  const queries: string[] = [];
  vi.stubGlobal("fetch", async (address: string) => {
    queries.push(new URL(address).search);
    const next = answers.shift();
    if (!next) {
      throw new TypeError("the server is gone");
    }
    return next();
  });
  return queries;
}

const stream = (...events: LogEvent[]) =>
  new Response(`retry: 1000\n\n${events.map(message).join("")}: alive\n\n`);

/** Follows until the connection is what is waited for, and gives everything that was seen. */
function followUntil(until: Connection, after = -1) {
  return new Promise<{ seqs: number[]; connections: Connection[]; batches: number; resets: number }>(
    (resolve) => {
      const all = { seqs: [] as number[], connections: [] as Connection[], batches: 0, resets: 0 };
      const stop = followRun("r", after, {
        onEvents: (events) => {
          all.batches += 1;
          all.seqs.push(...events.map((logEvent) => logEvent.seq));
        },
        onConnection: (connection) => {
          all.connections.push(connection);
          if (connection === until) {
            stop();
            resolve(all);
          }
        },
        onReset: () => {
          all.resets += 1;
          all.seqs = [];
        },
      });
    },
  );
}

beforeEach(() => {
  vi.spyOn(Math, "random").mockReturnValue(0);
  // Waiting costs nothing here: what is to happen later happens next.
  const real = globalThis.setTimeout;
  vi.stubGlobal("setTimeout", (run: () => void, wait = 0) => real(run, wait > 20_000 ? wait : 0));
});

afterEach(() => vi.unstubAllGlobals());

describe("following a run", () => {
  it("loses nothing and doubles nothing when the connection is cut", async () => {
    const queries = serve(
      () => stream(event(0), event(1)),
      () => Response.error(),
      () => stream(event(1), event(2), event(3, "run_completed")),
    );
    const all = await followUntil("ended");
    expect(all.seqs).toEqual([0, 1, 2, 3]);
    expect(queries).toEqual(["?after=-1", "?after=1", "?after=1"]);
    expect(all.connections).toContain("waiting");
  });

  it("ends when the server says that everything was seen", async () => {
    serve(() => new Response(null, { status: 204 }));
    expect((await followUntil("ended", 7)).seqs).toEqual([]);
  });

  it("hands over many events at once", async () => {
    const many = Array.from({ length: 500 }, (_, seq) =>
      event(seq, seq === 499 ? "run_failed" : "llm_usage"),
    );
    serve(() => stream(...many));
    const all = await followUntil("ended");
    expect(all.seqs.length).toBe(500);
    expect(all.batches).toBeLessThan(5);
  });

  it("stops at a refusal, and does not ask again", async () => {
    const queries = serve(() =>
      Response.json({ detail: { kind: "not_found", message: "no such run" } }, { status: 404 }),
    );
    expect((await followUntil("failed")).seqs).toEqual([]);
    expect(queries.length).toBe(1);
  });

  it("begins again when the log is not the one it knew", async () => {
    const queries = serve(
      () => Response.json({ detail: { kind: "conflict", message: "no event 7 yet" } }, { status: 409 }),
      () => stream(event(0), event(1, "run_completed")),
    );
    const all = await followUntil("ended", 7);
    expect([all.resets, all.seqs]).toEqual([1, [0, 1]]);
    expect(queries).toEqual(["?after=7", "?after=-1"]);
  });
});

it("messages are read however their pieces fall", () => {
  const text = `: hello\r\n${message(event(0))}id: 5\ndata: a\ndata: b\n\n`;
  for (const size of [1, 2, 3, 7, text.length]) {
    const reader = new FrameReader();
    const frames = [];
    for (let at = 0; at < text.length; at += size) {
      frames.push(...reader.push(text.slice(at, at + size)));
    }
    expect(frames.map((frame) => frame.id)).toEqual(["0", "5"]);
    expect(frames[1]?.data).toBe("a\nb");
  }
});
