import { useDeferredValue, useMemo } from "react";
import type { LogEvent, RunView, TranscriptItem } from "../../events";
import { filterMatches } from "./search/find";
import { countTo } from "./useViewAt";

/** What a search finds in a view: entries of the transcript, or events of the log. */
export interface SearchResults {
  items: ReadonlySet<TranscriptItem>;
  events: readonly LogEvent[];
  /** The numbers of what was found, in order. */
  seqs: readonly number[];
}

const NO_RESULTS: SearchResults = { items: new Set(), events: [], seqs: [] };

/** Searches what is shown; while it grows, now and then. */
export function useRunSearch(
  query: string,
  view: RunView,
  events: readonly LogEvent[],
  inEvents: boolean,
): SearchResults {
  const text = useDeferredValue(query.trim());
  const items = useDeferredValue(view.items);
  const log = useDeferredValue(events);
  return useMemo(() => {
    if (!text) {
      return NO_RESULTS;
    }
    if (inEvents) {
      const matches = filterMatches(log, text);
      return { ...NO_RESULTS, events: matches, seqs: matches.map((match) => match.seq) };
    }
    const matches = filterMatches(items, text);
    return { ...NO_RESULTS, items: new Set(matches), seqs: matches.map((match) => match.seq) };
  }, [text, items, log, inEvents]);
}

/** Where one stands among the places that were found; -1 where on none of them. */
export function findResultIndex(seqs: readonly number[], selected: number | undefined): number {
  return selected === undefined ? -1 : seqs.indexOf(selected);
}

/** The place after or before the selected one; around at the ends. */
export function findNextResult(
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
