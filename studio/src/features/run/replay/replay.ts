import { EMPTY_VIEW, foldEvents, type LogEvent, type RunView } from "../../../events";

const SNAPSHOT_INTERVAL = 200;

/** The states of a run at each of its events; states on the way are kept, so that going back is quick too. */
export class Replay {
  private events: readonly LogEvent[] = [];
  private snapshots: RunView[] = [EMPTY_VIEW];
  private latest = { count: 0, view: EMPTY_VIEW };

  /** Takes the log as it is now; a longer one of the same run keeps what is known. */
  take(events: readonly LogEvent[]): void {
    const folded = (this.snapshots.length - 1) * SNAPSHOT_INTERVAL;
    const last = Math.max(this.latest.count, folded) - 1;
    const same =
      last < 0 ||
      (last < events.length && events[last] === this.events[last] && events[0] === this.events[0]);
    if (!same) {
      this.snapshots = [EMPTY_VIEW];
      this.latest = { count: 0, view: EMPTY_VIEW };
    }
    this.events = events;
  }

  /** The state after the event with a number, and after all before it. */
  at(seq: number): RunView {
    const count = countUpTo(this.events, seq);
    this.takeSnapshots(count);
    const index = Math.floor(count / SNAPSHOT_INTERVAL);
    const base = { count: index * SNAPSHOT_INTERVAL, view: this.snapshots[index] ?? EMPTY_VIEW };
    const from = this.latest.count <= count && this.latest.count > base.count ? this.latest : base;
    const view = foldEvents(from.view, this.events.slice(from.count, count));
    this.latest = { count, view };
    return view;
  }

  private takeSnapshots(count: number): void {
    while (this.snapshots.length * SNAPSHOT_INTERVAL <= count) {
      const done = (this.snapshots.length - 1) * SNAPSHOT_INTERVAL;
      const next = this.events.slice(done, done + SNAPSHOT_INTERVAL);
      this.snapshots.push(foldEvents(this.snapshots.at(-1) ?? EMPTY_VIEW, next));
    }
  }
}

/** How many events have numbers up to this one. */
export function countUpTo(events: readonly LogEvent[], seq: number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((events[middle]?.seq ?? 0) <= seq) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/** Where a playhead is after some real time: the number of an event, and how long until the next one. */
export interface PlaybackStep {
  seq: number;
  wait: number;
}

const MAX_PAUSE_MS = 2_000;
const FRAME_MS = 16;

/** The next stop after an event when a run is played: recorded time by speed, long pauses cut, crowds taken together. */
export function nextStep(
  events: readonly LogEvent[],
  seq: number,
  speed: number,
  minWait = FRAME_MS,
): PlaybackStep | null {
  let at = countUpTo(events, seq);
  let wait = 0;
  while (at < events.length) {
    wait += pauseBefore(events, at) / speed;
    if (wait >= minWait || at === events.length - 1) {
      return { seq: events[at]?.seq ?? seq, wait: Math.max(wait, minWait) };
    }
    at += 1;
  }
  return null;
}

function pauseBefore(events: readonly LogEvent[], at: number): number {
  const before = Date.parse(events[at - 1]?.timestamp ?? "");
  const pause = Date.parse(events[at]?.timestamp ?? "") - before;
  return Number.isFinite(pause) ? Math.min(MAX_PAUSE_MS, Math.max(0, pause)) : 0;
}
