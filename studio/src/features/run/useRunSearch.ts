import { useDeferredValue, useMemo } from "react";
import type { LogEvent, RunView, TranscriptItem } from "../../events";
import { matching } from "./search/find";
import { countTo } from "./useViewAt";

/** What a search finds in a view: entries of the transcript, or events of the log. */
export interface Found {
  items: ReadonlySet<TranscriptItem>;
  events: readonly LogEvent[];
  /** The numbers of what was found, in order. */
  seqs: readonly number[];
}

const NOTHING: Found = { items: new Set(), events: [], seqs: [] };

/** Searches what is shown; while it grows, now and then. */
export function useRunSearch(
  wanted: string,
  view: RunView,
  events: readonly LogEvent[],
  inEvents: boolean,
): Found {
  const text = useDeferredValue(wanted.trim());
  const items = useDeferredValue(view.items);
  const log = useDeferredValue(events);
  return useMemo(() => {
    if (!text) {
      return NOTHING;
    }
    if (inEvents) {
      const found = matching(log, text);
      return { ...NOTHING, events: found, seqs: found.map((one) => one.seq) };
    }
    const found = matching(items, text);
    return { ...NOTHING, items: new Set(found), seqs: found.map((one) => one.seq) };
  }, [text, items, log, inEvents]);
}

/** Where one stands among the places that were found; -1 where on none of them. */
export function foundAt(seqs: readonly number[], selected: number | undefined): number {
  return selected === undefined ? -1 : seqs.indexOf(selected);
}

/** The place after or before the selected one; around at the ends. */
export function nextFound(
  seqs: readonly number[],
  selected: number | undefined,
  by: 1 | -1,
): number | undefined {
  if (seqs.length === 0) {
    return undefined;
  }
  const before = countTo(
    seqs.map((seq) => ({ seq })),
    (selected ?? -1) - (by < 0 ? 1 : 0),
  );
  const at = by > 0 ? before : before - 1;
  return seqs[(at + seqs.length) % seqs.length];
}
