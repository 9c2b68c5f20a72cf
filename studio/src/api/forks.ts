import { useQuery } from "@tanstack/react-query";
import { getJson } from "./client";
import type { RunPage, RunRow } from "./runs";

/** The runs that were forked from a run; they stay in the task of their parent, so that one page of it is enough. */
export function useForks(runId: string, taskId: string, kind: string) {
  return useQuery({
    queryKey: ["runs", "forks", taskId],
    queryFn: ({ signal }) => getJson<RunPage>("runs", { query: { task_id: taskId, limit: 200 }, signal }),
    enabled: taskId !== "",
    select: ({ runs }): RunRow[] => runs.filter((run) => run.parent_run_id === runId && run.kind === kind),
  });
}
