import { useMutation, useQueryClient } from "@tanstack/react-query";
import { sendJson } from "./client";

/** Something that was noticed while a run was checked. */
export interface Finding {
  code?: string;
  where?: string;
  message?: string;
  severity?: string;
  seq?: number | null;
}

/** A run that was brought here; not authentic where this machine does not have the key of its log. */
export interface ImportResult {
  run_id: string;
  status: string;
  authentic: boolean;
  events: number;
  findings: Finding[];
}

/** The type of an archive by its name. */
export function archiveType(name: string): string {
  return /\.zip$/i.test(name) ? "application/zip" : "application/gzip";
}

/** Brings an exported run here: a zip or a tar.gz of its directory. */
export function useImportRun() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (file: File) =>
      sendJson<ImportResult>("POST", "runs/import", { raw: { data: file, type: archiveType(file.name) } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["runs"] }),
  });
}
