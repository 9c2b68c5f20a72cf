import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getJson, path, sendJson } from "./client";
import type { components } from "./schema";

/** A call that waits for a decision, with everything whoever decides should see. */
export interface Approval {
  approval_id: string;
  approval_key: string;
  run_id: string;
  session_id: string;
  call_id: string;
  tool: string;
  summary: string;
  since: string;
  seq: number;
  rule: string;
  why: string;
  /** `level`, `reason` and the `part` of the call that is the reason. */
  risk: Record<string, string>;
  expires_at: string;
  details: Record<string, unknown>;
  intent: Record<string, unknown>;
  /** What was decided already and is not acted on yet. */
  decided: Record<string, unknown> | null;
}

/** A decision about exactly what was seen: it names the request and its digest. */
export interface NewDecision {
  approval_id: string;
  approval_key: string;
  run_id: string;
  decision: components["schemas"]["NewDecision"]["decision"];
  note?: string;
  /** Runs the call with these arguments instead. */
  arguments?: Record<string, unknown>;
  /** Also allows such calls for the rest of the run. */
  rule?: "run";
}

const LOOK_MS = 3_000;

/** Every request that waits, the oldest first; with a run, only its own. */
export function useApprovals(runId?: string) {
  return useQuery({
    queryKey: ["approvals", runId ?? null],
    queryFn: async ({ signal }) => {
      const where = runId ? path`runs/${runId}/approvals` : "approvals";
      return (await getJson<{ approvals: Approval[] }>(where, { signal })).approvals;
    },
    refetchInterval: LOOK_MS,
  });
}

/** Decides on a request; a decision that comes too late is a `Problem` of kind `approval_stale`. */
export function useDecide() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ approval_id, ...body }: NewDecision) =>
      sendJson<components["schemas"]["Receipt"]>("POST", path`approvals/${approval_id}`, { body }),
    onSettled: () =>
      Promise.all(["approvals", "run", "runs"].map((name) => client.invalidateQueries({ queryKey: [name] }))),
  });
}
