import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { addressOf, getJson, getText, path, sendJson } from "./client";
import type { components } from "./schema";

/** One execution of a deterministic skill; `output` is there when it was looked at alone. */
export type Execution = components["schemas"]["ExecutionDocument"] & { output?: unknown };

const EXPECTED_REFETCH_MS = 300;
const REFETCH_MS = 1_000;

/** Which executions a list shows. */
export interface ExecutionFilter {
  skill?: string;
  status?: string;
}

/** The executions, the latest first, page by page; looked at often while one is `expected` or runs. */
export function useExecutions(filter: ExecutionFilter = {}, expected = false) {
  return useInfiniteQuery({
    queryKey: ["executions", filter],
    queryFn: ({ pageParam, signal }) =>
      getJson<{ executions: Execution[]; next_cursor: string | null }>("executions", {
        query: { ...filter, limit: 50, cursor: pageParam },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    refetchInterval: (query) => {
      const running = query.state.data?.pages.some((page) =>
        page.executions.some((execution) => execution.status === "running"),
      );
      return expected ? EXPECTED_REFETCH_MS : running ? REFETCH_MS : false;
    },
  });
}

/** One execution, looked at again while it runs. */
export function useExecution(id: string) {
  return useQuery({
    queryKey: ["execution", id],
    queryFn: ({ signal }) => getJson<Execution>(path`executions/${id}`, { signal }),
    refetchInterval: (query) => (query.state.data?.status === "running" ? REFETCH_MS : false),
  });
}

/** What is executed; the same under the same key is executed once. */
export interface NewExecution {
  skill: string;
  input?: unknown;
  timeout_ms?: number;
  key?: string;
}

/** Executes a skill, and answers when it has ended. */
export function useExecute() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ key, ...body }: NewExecution) =>
      sendJson<Execution>("POST", "executions", { body, idempotencyKey: key }),
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

/** What an execution wrote, at most its first bytes; looked at again while it is `running`. */
export function useExecutionLog(id: string, stream: "stdout" | "stderr", running: boolean, limit = 200_000) {
  return useQuery({
    queryKey: ["execution-log", id, stream, limit, running],
    queryFn: ({ signal }) => getText(path`executions/${id}/logs/${stream}`, { limit, signal }),
    refetchInterval: running ? REFETCH_MS : false,
    placeholderData: keepPreviousData,
  });
}

/** A file that an execution left, as text, at most its first bytes. */
export function useExecutionFile(id: string, name: string, limit = 200_000) {
  return useQuery({
    queryKey: ["execution-file", id, name, limit],
    queryFn: ({ signal }) => getText(path`executions/${id}/artifacts/${name}`, { limit, signal }),
  });
}

/** The address of a file that an execution left: for a download, or to be shown where nothing in it can act. */
export function executionFileAddress(id: string, name: string, preview = false): string {
  return addressOf(path`executions/${id}/artifacts/${name}`, preview ? { preview: 1 } : {});
}
