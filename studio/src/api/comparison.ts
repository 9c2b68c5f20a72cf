import { useQuery } from "@tanstack/react-query";
import { getJson, path } from "./client";

/** One thing a run did, without ids and times. */
export interface Action {
  kind: "task" | "answer" | "call" | "result" | "end";
  what: string;
}

/** Moves that are the same in both runs, or stand where the other has others. */
export interface ComparedRow {
  op: "equal" | "replace" | "delete" | "insert";
  a: Action[];
  b: Action[];
}

/** Where two runs are the same and where they differ. */
export interface Comparison {
  a: string;
  b: string;
  same: boolean;
  truncated: boolean;
  unified: string[];
  rows: ComparedRow[];
}

/** Compares what two runs said and did. */
export function useComparison(a: string, b: string) {
  return useQuery({
    queryKey: ["comparison", a, b],
    queryFn: ({ signal }) => getJson<Comparison>(path`runs/${a}/diff/${b}`, { signal }),
    enabled: a !== "" && b !== "",
  });
}
