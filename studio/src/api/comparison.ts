import { useQuery } from "@tanstack/react-query";
import { getJson, path } from "./client";

/** One action of a run, without ids and times. */
export interface Action {
  kind: "task" | "answer" | "call" | "result" | "end";
  what: string;
}

/** Actions that are equal in both runs, or replaced, deleted or inserted. */
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
