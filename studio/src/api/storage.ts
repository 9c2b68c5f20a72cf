import { useQuery } from "@tanstack/react-query";
import { getJson } from "./client";

/** One kind of what is kept: where, how much, and how many things of its kind. */
export interface StoragePart {
  name: string;
  path: string;
  bytes: number;
  files: number;
  count: number;
  /** Whether everything was counted; otherwise it takes more. */
  complete: boolean;
}

/** What everything takes on the disk, and what is left. */
export interface Storage {
  parts: StoragePart[];
  disk: { free: number; total: number };
  largest_runs: { run_id: string; bytes: number }[];
}

/** What everything takes on the disk; counting takes a moment, so it is not repeated by itself. */
export function useStorage() {
  return useQuery({
    queryKey: ["storage"],
    queryFn: ({ signal }) => getJson<Storage>("storage", { signal }),
    staleTime: 30_000,
    refetchOnWindowFocus: false,
  });
}
