import { useMemo } from "react";
import type { RunFilter } from "../../api/runs";
import { type SearchValues, useSearchValues } from "../../lib/search";

/** What a list may be narrowed by. */
export type RunFilterValues = Pick<RunFilter, "status" | "skill" | "model" | "text">;

/** The filter that the address names, and a setter that changes the address; an empty value removes one. */
export function useRunFilter(): [RunFilterValues, (change: RunFilterValues) => void] {
  const [values, change] = useSearchValues();
  const { status, skill, model, text } = values;
  const filter = useMemo(() => ({ status, skill, model, text }), [status, skill, model, text]);
  return [filter, (changes) => change(changes as SearchValues)];
}
