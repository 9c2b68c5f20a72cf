import type { LogEvent } from "../events/types";
import { cutWhenHidden, untilVisible } from "../lib/visible";
import { ask, path } from "./client";
import { readFrames } from "./frames";
import { type Problem, problemOf } from "./problem";

/** How the connection to a log stands; `waiting` tries again by itself, `failed` does not. */
export type Connection = "idle" | "connecting" | "live" | "waiting" | "ended" | "failed";

/** Who follows a log. */
export interface Follower {
  /** New events in order, each once; at most once per frame of the screen. */
  onEvents(events: LogEvent[]): void;
  onConnection(connection: Connection, problem: Problem | null): void;
  /** The log is not the one that was seen so far; everything comes again from the start. */
  onReset(): void;
}

const TERMINAL = new Set(["run_completed", "run_failed", "run_cancelled"]);
const FIRST_MS = 500;
const LONGEST_MS = 15_000;
const HIDDEN_MS = 200;
/** Without any sign of life for so long a connection counts as lost; the server sends one more often. */
const SILENT_MS = 60_000;

/** Follows the log of a run after one event until it ends; call what it returns to stop. */
export function followRun(id: string, after: number, follower: Follower): () => void {
  const following = new Following(id, after, follower);
  void following.go();
  return () => following.stop();
}

class Following {
  private readonly stopping = new AbortController();
  private waitMs = FIRST_MS;
  private ended = false;
  private batch: LogEvent[] = [];
  private scheduled = false;

  constructor(
    private readonly id: string,
    private last: number,
    private readonly follower: Follower,
  ) {}

  stop(): void {
    this.stopping.abort();
  }

  async go(): Promise<void> {
    while (!this.stopping.signal.aborted && !this.ended) {
      this.tell("connecting");
      try {
        await untilVisible(this.stopping.signal);
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
      this.tell("ended");
    }
  }

  /** Reads one connection to its end; a silent one is cut. */
  private async connect(): Promise<void> {
    const cut = new AbortController();
    const signal = AbortSignal.any([this.stopping.signal, cut.signal]);
    const watched = cutWhenHidden(cut);
    try {
      const response = await ask("GET", path`runs/${this.id}/events/stream`, {
        query: { after: this.last },
        headers: { accept: "text/event-stream" },
        signal,
      });
      if (response.status === 204 || response.body === null) {
        this.ended = true;
        return;
      }
      this.waitMs = FIRST_MS;
      this.tell("live");
      await readFrames(response.body, SILENT_MS, cut, (frame) =>
        this.take(JSON.parse(frame.data) as LogEvent),
      );
    } finally {
      watched();
    }
  }

  private take(event: LogEvent): void {
    if (event.seq <= this.last) {
      return;
    }
    this.last = event.seq;
    this.ended ||= TERMINAL.has(event.type);
    this.batch.push(event);
    if (!this.scheduled) {
      this.scheduled = true;
      soon(() => this.flush());
    }
  }

  private flush(): void {
    this.scheduled = false;
    const events = this.batch;
    this.batch = [];
    if (events.length > 0 && !this.stopping.signal.aborted) {
      this.follower.onEvents(events);
    }
  }

  /** Whether trying again makes no sense; a log that became shorter is read anew. */
  private isFinal(problem: Problem): boolean {
    if (problem.status === 409 && problem.kind === "conflict" && this.last >= 0) {
      this.last = -1;
      this.batch = [];
      this.follower.onReset();
      return false;
    }
    const final =
      problem.status >= 400 && problem.status < 500 && problem.status !== 429 && problem.status !== 408;
    if (final) {
      this.flush();
      this.tell("failed", problem);
    }
    return final;
  }

  private async pause(problem: Problem | null): Promise<void> {
    this.flush();
    this.tell("waiting", problem);
    const wait = this.waitMs * (0.75 + Math.random() / 2);
    this.waitMs = Math.min(LONGEST_MS, this.waitMs * 2);
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

  private tell(connection: Connection, problem: Problem | null = null): void {
    if (!this.stopping.signal.aborted) {
      this.follower.onConnection(connection, problem);
    }
  }
}

/** Calls back with the next frame of the screen, or soon where nothing is drawn. */
function soon(callback: () => void): void {
  let called = false;
  const once = () => {
    if (!called) {
      called = true;
      callback();
    }
  };
  requestAnimationFrame(once);
  setTimeout(once, HIDDEN_MS);
}
