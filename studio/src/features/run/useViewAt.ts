import { useRef } from "react";
import { EMPTY_VIEW, foldEvents, type LogEvent, type RunView } from "../../events";

interface Folded {
  events: readonly LogEvent[];
  count: number;
  view: RunView;
}

/** The run as it stood after an event; going forward folds only what is between. */
export function useViewAt(events: readonly LogEvent[], at: number | undefined, now: RunView): RunView {
  const kept = useRef<Folded>({ events: [], count: 0, view: EMPTY_VIEW });
  if (at === undefined) {
    return now;
  }
  const count = countTo(events, at);
  const before = kept.current;
  const forward =
    before.count <= count && before.events[0] === events[0] ? before : { count: 0, view: EMPTY_VIEW };
  const view = foldEvents(forward.view, events.slice(forward.count, count));
  kept.current = { events, count, view };
  return view;
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
export function placeOf(items: readonly { seq: number; last_seq: number }[], seq: number): number {
  const last = countTo(items, seq) - 1;
  for (let at = last; at >= 0 && at > last - 50; at -= 1) {
    const item = items[at];
    if (item && (item.last_seq === seq || item.seq === seq)) {
      return at;
    }
  }
  return last;
}
