import { useMutation, useQuery } from "@tanstack/react-query";
import { addressOf, getBlob, getJson, getText, path } from "./client";
import type { components } from "./schema";

/** A file that a run produced or consumed. */
export interface Artifact {
  /** Its path in the run, such as `deliverables/report.md`. */
  name: string;
  role: string;
  direction: string;
  mediaType: string;
  size: number;
  digest: { sha256: string };
}

/** The files of a run; they may still change until the list is final. */
export interface ArtifactList {
  artifacts: Artifact[];
  final: boolean;
}

/** Whether a run directory is what its run left behind. */
export type Verdict = components["schemas"]["VerdictDocument"];

const REFETCH_MS = 5_000;

/** The files of a run; `deliverables` are those it hands over. */
export function useArtifacts(id: string, kind: "artifacts" | "deliverables" = "artifacts") {
  return useQuery({
    queryKey: ["artifacts", id, kind],
    queryFn: ({ signal }) =>
      getJson<ArtifactList>(
        kind === "artifacts" ? path`runs/${id}/artifacts` : path`runs/${id}/deliverables`,
        { signal },
      ),
    refetchInterval: (query) => (query.state.data?.final ? false : REFETCH_MS),
  });
}

/** The address of a file of a run, for a download; `name` as it was listed. */
export function artifactAddress(id: string, name: string): string {
  return addressOf(path`runs/${id}/artifacts/${name}`);
}

/** The address of a file to look at in a frame; the server then answers so that it can do nothing. */
export function previewAddress(id: string, name: string): string {
  return addressOf(path`runs/${id}/artifacts/${name}`, { preview: 1 });
}

/** Fetches a file of a run, to be saved. */
export function fetchArtifact(id: string, name: string): Promise<Blob> {
  return getBlob(path`runs/${id}/artifacts/${name}`);
}

/** The text of a file, at most its first `limit` bytes. */
export function useArtifactText(id: string, name: string, limit: number, enabled = true) {
  return useQuery({
    queryKey: ["artifact-text", id, name, limit],
    queryFn: ({ signal }) => getText(path`runs/${id}/artifacts/${name}`, { limit, signal }),
    enabled,
  });
}

/** The bytes of a file, for pictures and documents. */
export function useArtifactBlob(id: string, name: string, enabled = true) {
  return useQuery({
    queryKey: ["artifact-blob", id, name],
    queryFn: ({ signal }) => getBlob(path`runs/${id}/artifacts/${name}`, { signal }),
    enabled,
    gcTime: 60_000,
  });
}

/** A run as prose, in Markdown. */
export function useTranscript(id: string, enabled = true) {
  return useQuery({
    queryKey: ["transcript", id],
    queryFn: ({ signal }) => getText(path`runs/${id}/transcript`, { signal }),
    enabled,
  });
}

/** Checks a run against its log; only when asked, for it reads everything. */
export function useVerifyRun() {
  return useMutation({ mutationFn: ({ id }: { id: string }) => getJson<Verdict>(path`runs/${id}/verify`) });
}

/** The address of a run as one archive. */
export function exportAddress(id: string): string {
  return addressOf(path`runs/${id}/export`);
}

/** The address of a run as one page that needs nothing else. */
export function pageAddress(id: string, lang: "en" | "zh"): string {
  return addressOf(path`runs/${id}/export.html`, { lang });
}
