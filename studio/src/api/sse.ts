import type { LogEvent } from "../events/types";
import { abortWhenHidden, waitUntilVisible } from "../lib/visible";
import { path, request } from "./client";
import { readFrames } from "./frames";
import { type Problem, problemOf } from "./problem";

/** The state of a log stream; `waiting` reconnects automatically, `failed` does not. */
export type Connection = "idle" | "connecting" | "live" | "waiting" | "ended" | "failed";

/** Callbacks of a log stream. */
export interface StreamHandler {
  /** New events in order, each once; at most once per frame of the screen. */
  onEvents(events: LogEvent[]): void;
  onConnection(connection: Connection, problem: Problem | null): void;
  /** The log is not the one that was seen so far; everything comes again from the start. */
  onReset(): void;
}

const TERMINAL = new Set(["run_completed", "run_failed", "run_cancelled"]);
const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;
const HIDDEN_TAB_DELAY_MS = 200;
/** A connection without heartbeats for this long is lost; the server sends them more often. */
const SILENCE_TIMEOUT_MS = 60_000;

/** Follows the log of a run after one event until it ends; call what it returns to stop. */
export function followRun(id: string, after: number, handler: StreamHandler): () => void {
  const stream = new EventStream(id, after, handler);
  void stream.start();
  return () => stream.stop();
}

class EventStream {
  private readonly stopping = new AbortController();
  private waitMs = MIN_RETRY_MS;
  private ended = false;
  private batch: LogEvent[] = [];
  private scheduled = false;

  constructor(
    private readonly id: string,
    private last: number,
    private readonly handler: StreamHandler,
  ) {}

  stop(): void {
    this.stopping.abort();
  }

  async start(): Promise<void> {
    while (!this.stopping.signal.aborted && !this.ended) {
      this.report("connecting");
      try {
        await waitUntilVisible(this.stopping.signal);
        await this.connect();
        if (this.ended) {
          break;
        }
        await this.pause(null);
      } catch (error) {
        if (this.stopping.signal.aborted || this.isFinal(problemOf(error))) {
          return;
        }
        await this.pause(problemOf(error));
      }
    }
    if (!this.stopping.signal.aborted) {
      this.flush();
      this.report("ended");
    }
  }

  /** Reads one connection to its end; a silent one is cut. */
  private async connect(): Promise<void> {
    const abort = new AbortController();
    const signal = AbortSignal.any([this.stopping.signal, abort.signal]);
    const stopWatching = abortWhenHidden(abort);
    try {
      const response = await request("GET", path`runs/${this.id}/events/stream`, {
        query: { after: this.last },
        headers: { accept: "text/event-stream" },
        signal,
      });
      if (response.status === 204 || response.body === null) {
        this.ended = true;
        return;
      }
      this.waitMs = MIN_RETRY_MS;
      this.report("live");
      await readFrames(response.body, SILENCE_TIMEOUT_MS, abort, (frame) =>
        this.append(JSON.parse(frame.data) as LogEvent),
      );
    } finally {
      stopWatching();
    }
  }

  private append(event: LogEvent): void {
    if (event.seq <= this.last) {
      return;
    }
    this.last = event.seq;
    this.ended ||= TERMINAL.has(event.type);
    this.batch.push(event);
    if (!this.scheduled) {
      this.scheduled = true;
      callNextFrame(() => this.flush());
    }
  }

  private flush(): void {
    this.scheduled = false;
    const events = this.batch;
    this.batch = [];
    if (events.length > 0 && !this.stopping.signal.aborted) {
      this.handler.onEvents(events);
    }
  }

  /** Whether a retry is pointless; a log that became shorter is read again from its start. */
  private isFinal(problem: Problem): boolean {
    if (problem.status === 409 && problem.kind === "conflict" && this.last >= 0) {
      this.last = -1;
      this.batch = [];
      this.handler.onReset();
      return false;
    }
    const final =
      problem.status >= 400 && problem.status < 500 && problem.status !== 429 && problem.status !== 408;
    if (final) {
      this.flush();
      this.report("failed", problem);
    }
    return final;
  }

  private async pause(problem: Problem | null): Promise<void> {
    this.flush();
    this.report("waiting", problem);
    const wait = this.waitMs * (0.75 + Math.random() / 2);
    this.waitMs = Math.min(MAX_RETRY_MS, this.waitMs * 2);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, wait);
      const { signal } = this.stopping;
      function done() {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        window.removeEventListener("online", done);
        resolve();
      }
      signal.addEventListener("abort", done);
      window.addEventListener("online", done);
    });
  }

  private report(connection: Connection, problem: Problem | null = null): void {
    if (!this.stopping.signal.aborted) {
      this.handler.onConnection(connection, problem);
    }
  }
}

/** Calls back with the next frame of the screen, or soon where nothing is drawn. */
function callNextFrame(callback: () => void): void {
  let called = false;
  const once = () => {
    if (!called) {
      called = true;
      callback();
    }
  };
  requestAnimationFrame(once);
  setTimeout(once, HIDDEN_TAB_DELAY_MS);
}
