import { useQuery } from "@tanstack/react-query";
import { getBlob, path } from "./client";

/** Text of which only the beginning may be here. */
export interface Loaded {
  text: string;
  /** How many bytes there are in all. */
  size: number;
}

const MAX_BYTES = 8_000_000;

/** The text of a blob that the log refers to by digest; fetched only on demand. */
export function useBlobText(runId: string, digest: string | null | undefined, enabled = true) {
  return useQuery({
    queryKey: ["blob", runId, digest],
    queryFn: async ({ signal }): Promise<Loaded> => {
      const blob = await getBlob(path`runs/${runId}/blobs/${digest ?? ""}`, { signal });
      return { text: await blob.slice(0, MAX_BYTES).text(), size: blob.size };
    },
    enabled: enabled && Boolean(digest),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
}
