import type { TranscriptItem } from "../../events";
import { countTo } from "./useViewAt";

const MINOR_KINDS = new Set<TranscriptItem["kind"]>(["notice", "artifacts", "reasoning"]);
const STEP_KINDS = new Set<TranscriptItem["kind"]>(["call", "question", "approval", "child", "end"]);

/** The number of the next or previous entry; only of calls and the like when steps are wanted. */
export function findStep(
  items: readonly TranscriptItem[],
  selected: number | undefined,
  by: 1 | -1,
  steps: boolean,
): number | undefined {
  const start = selected === undefined ? (by > 0 ? -1 : items.length) : countTo(items, selected) - 1;
  const fits = (item: TranscriptItem) => (steps ? STEP_KINDS.has(item.kind) : !MINOR_KINDS.has(item.kind));
  for (let at = start + by; at >= 0 && at < items.length; at += by) {
    const item = items[at];
    if (item && fits(item) && item.seq !== selected) {
      return item.seq;
    }
  }
  return undefined;
}
