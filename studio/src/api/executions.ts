import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { addressOf, getJson, getText, path, sendJson } from "./client";
import type { components } from "./schema";

/** One execution of a deterministic skill; `output` is there when it was looked at alone. */
export type Execution = components["schemas"]["ExecutionDocument"] & { output?: unknown };

/** Which executions a list shows. */
export interface ExecutionFilter {
  skill?: string;
  status?: string;
}

/** The executions, the latest first, page by page. */
export function useExecutions(filter: ExecutionFilter = {}) {
  return useInfiniteQuery({
    queryKey: ["executions", filter],
    queryFn: ({ pageParam, signal }) =>
      getJson<{ executions: Execution[]; next_cursor: string | null }>("executions", {
        query: { ...filter, limit: 50, cursor: pageParam },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });
}

/** One execution, looked at again while it runs. */
export function useExecution(id: string) {
  return useQuery({
    queryKey: ["execution", id],
    queryFn: ({ signal }) => getJson<Execution>(path`executions/${id}`, { signal }),
    refetchInterval: (query) => (query.state.data?.status === "running" ? 1_000 : false),
  });
}

/** Executes a skill, and answers when it has ended. */
export function useExecute() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { skill: string; input?: unknown; timeout_ms?: number }) =>
      sendJson<Execution>("POST", "executions", { body }),
    onSettled: () => client.invalidateQueries({ queryKey: ["executions"] }),
  });
}

/** Ends an execution. */
export function useCancelExecution() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id }: { id: string }) =>
      sendJson<Execution>("POST", path`executions/${id}/cancel`, { body: {} }),
    onSettled: () => client.invalidateQueries({ queryKey: ["execution"] }),
  });
}

/** What an execution wrote, at most its first bytes. */
export function useExecutionLog(id: string, stream: "stdout" | "stderr", limit = 200_000) {
  return useQuery({
    queryKey: ["execution-log", id, stream, limit],
    queryFn: ({ signal }) => getText(path`executions/${id}/logs/${stream}`, { limit, signal }),
  });
}

/** The address of a file that an execution left, for a download. */
export function executionFileAddress(id: string, name: string): string {
  return addressOf(path`executions/${id}/artifacts/${name}`);
}
