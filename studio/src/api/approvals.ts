import { useMutation, useMutationState, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { getJson, path, sendJson } from "./client";
import { Problem } from "./problem";
import type { components } from "./schema";

/** A call that waits for a decision, with all the facts needed to decide. */
export interface Approval {
  approval_id: string;
  approval_key: string;
  run_id: string;
  session_id: string;
  /** The first line of what the run is about. */
  run_title: string;
  /** The directory the run works in. */
  workspace: string;
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
  /** A decision that the run has not processed yet. */
  decided: Record<string, unknown> | null;
  /** The exact command line. */
  command: string | null;
  argv: string[];
  cwd: string;
  /** Everything that would change in files, as one patch. */
  patch: string;
  files: FileTouch[];
  /** What the model says it is for. */
  reason: string;
  /** Whether it asks for more than the sandbox allows. */
  escalated: boolean;
  sandbox: SandboxPlan;
  rules: RulePreview[];
  /** Why no rule can be made of it. */
  no_rule: string;
}

/** A file that a call would touch. */
export interface FileTouch {
  path: string;
  touch: string;
}

/** The sandbox a call would run in; empty if it runs no command. */
export interface SandboxPlan {
  adapter?: string;
  active?: boolean;
  effective?: string;
  profile?: string;
  network?: string;
  cwd?: string;
  promises?: string[];
  gaps?: string[];
  accepted_gaps?: string[];
  /** Which hosts it can reach, where the network is an allow-list. */
  egress?: unknown;
  /** What it can read and write; old requests do not have it. */
  file_access?: unknown;
}

/** How far a rule reaches: this run, this folder, one skill in all runs, or all runs. */
export type RuleScope = "run" | "folder" | "skill" | "user";

/** A rule that could be added, as it would be written. */
export interface RulePreview {
  scope: RuleScope;
  text: string;
  /** The file it is kept in; none where it ends with the run. */
  file: string | null;
}

/** A decision bound to the request and to the digest that was shown. */
export interface NewDecision {
  approval_id: string;
  approval_key: string;
  run_id: string;
  decision: components["schemas"]["NewDecision"]["decision"];
  note?: string;
  /** Runs the call with these arguments instead. */
  arguments?: Record<string, unknown>;
  /** Also allows such calls from now on. */
  rule?: RuleScope;
}

/** Identifies a request: forks reuse the ids of their parent, and a call may be asked about twice. */
export function requestKey(request: Pick<Approval, "run_id" | "approval_id" | "approval_key">): string {
  return `${request.run_id} ${request.approval_id} ${request.approval_key}`;
}

const DECIDE = ["decide"];
/** Fallback polling; the feed announces new requests at once. */
const REFETCH_MS = 5_000;

/** Every request that waits, the oldest first; with a run, only its own. */
export function useApprovals(runId?: string) {
  return useQuery({
    queryKey: ["approvals", runId ?? null],
    queryFn: async ({ signal }) => {
      const endpoint = runId ? path`runs/${runId}/approvals` : "approvals";
      return (await getJson<{ approvals: Approval[] }>(endpoint, { signal })).approvals;
    },
    refetchInterval: REFETCH_MS,
  });
}

/** Decides on a request; a decision that comes too late is a `Problem` of kind `approval_stale`. */
export function useDecide() {
  const client = useQueryClient();
  return useMutation({
    mutationKey: DECIDE,
    gcTime: Number.POSITIVE_INFINITY,
    mutationFn: ({ approval_id, ...body }: NewDecision) =>
      sendJson<components["schemas"]["Receipt"]>("POST", path`approvals/${approval_id}`, { body }),
    onSettled() {
      // Not awaited: the caller gets the result first, the lists refresh afterwards.
      for (const name of ["approvals", "run", "runs"]) {
        void client.invalidateQueries({ queryKey: [name] });
      }
    },
  });
}

/** The decisions made on this page since it was opened, by request: sent, or too late. */
export function useOwnDecisions(): ReadonlyMap<string, "sent" | "late"> {
  const mutations = useMutationState({
    filters: { mutationKey: DECIDE },
    select: ({ state }) => ({ decision: state.variables as NewDecision, error: state.error }),
  });
  return useMemo(() => {
    const outcomes = new Map<string, "sent" | "late">();
    for (const { decision, error } of mutations) {
      const late = error instanceof Problem && error.kind === "approval_stale";
      if (late || !error) {
        outcomes.set(requestKey(decision), late ? "late" : "sent");
      }
    }
    return outcomes;
  }, [mutations]);
}
