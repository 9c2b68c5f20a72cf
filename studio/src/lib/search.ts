import { useCallback, useMemo } from "react";
import { useLocation, useSearch } from "wouter";

/** The values of a query by name; an empty one is absent. */
export type SearchValues = Readonly<Record<string, string | undefined>>;

/** The query of the page as values, and a setter that changes some of them; `undefined` removes one. */
export function useSearchValues(): [SearchValues, (change: SearchValues, keepHistory?: boolean) => void] {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const values = useMemo(() => Object.fromEntries(new URLSearchParams(search)), [search]);
  const change = useCallback(
    (changes: SearchValues, keepHistory = false) => {
      const next = withValues(search, changes);
      navigate(next ? `${path}?${next}` : path, { replace: !keepHistory });
    },
    [search, path, navigate],
  );
  return [values, change];
}

/** A query with some values changed, in a stable order. */
export function withValues(search: string, changes: SearchValues): string {
  const params = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) {
      params.set(name, value);
    } else {
      params.delete(name);
    }
  }
  params.sort();
  return params.toString();
}
