import type { LogEvent, RunView } from "../../events";
import { useReplay } from "./replay/useReplay";

/** The run as it stood after an event; states on the way are kept, so that going back is quick too. */
export function useViewAt(events: readonly LogEvent[], at: number | undefined, now: RunView): RunView {
  return useReplay(events, now, at);
}

/** How many events have a number up to `at`; numbers grow along the log. */
export function countTo(events: readonly { seq: number }[], at: number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((events[middle]?.seq ?? 0) <= at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/** Where the item stands that an event belongs to: the one it changed last, or else the one it began before. */
export function findItemIndex(items: readonly { seq: number; last_seq: number }[], seq: number): number {
  const last = countTo(items, seq) - 1;
  for (let at = last; at >= 0 && at > last - 50; at -= 1) {
    const item = items[at];
    if (item && (item.last_seq === seq || item.seq === seq)) {
      return at;
    }
  }
  return last;
}
