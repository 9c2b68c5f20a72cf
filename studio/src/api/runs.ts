import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getJson, newIdempotencyKey, path, sendJson } from "./client";
import type { components } from "./schema";

type Schemas = components["schemas"];

/** The state of a run. */
export type RunStatus = Schemas["RunStatus"];

/** The states after which nothing follows. */
export const FINAL_STATUSES: ReadonlySet<string> = new Set<RunStatus>(["completed", "failed", "cancelled"]);

/** A question that a run asks. */
export interface OpenQuestion {
  call_id: string;
  question: string;
  choices: string[];
  ids: string[];
}

/** A run as a list shows it. */
export interface RunRow {
  run_id: string;
  session_id: string;
  task_id: string;
  status: RunStatus;
  title: string;
  created_at: string;
  updated_at: string;
  last_seq: number;
  kind: string;
  profile_id: string;
  model: string;
  started_at: string | null;
  completed_at: string | null;
  failure_reason: string | null;
  input_tokens: number;
  output_tokens: number;
  tool_calls: number;
  pending_approvals: number;
  parent_run_id: string | null;
  attempt: number;
  /** Null where it is unknown. */
  cost_usd: number | null;
  /** How long it took, or has taken so far. */
  duration_ms: number | null;
  /** Skills by mention. */
  skills: string[];
  /** True where the model only followed a script. */
  scripted: boolean;
  /** True where the run was brought here from elsewhere. */
  imported: boolean;
}

/** A run by its log. */
export interface Run extends Omit<RunRow, "title"> {
  task: string;
  error_kind: string | null;
  final_output: string;
  waiting_kind: string | null;
  waiting_message: string;
  turns: number;
  steps: number;
  cached_tokens: number;
  /** Null where it is unknown. */
  cost_usd: number | null;
  workspace_mode: string;
  required_deliverables: string[];
  artifacts: string[];
  fork: { run_id: string; seq: number } | null;
  children: Record<string, string>;
  questions: OpenQuestion[];
  trouble: string | null;
}

/** Which runs a list shows. */
export interface RunFilter {
  status?: string;
  session_id?: string;
  task_id?: string;
  text?: string;
  model?: string;
  skill?: string;
}

/** One page of runs. */
export interface RunPage {
  runs: RunRow[];
  next_cursor: string | null;
}

/** What a new run starts from. */
export type NewRun = Pick<Schemas["NewRun"], "prompt"> & Partial<Schemas["NewRun"]>;

/** Where a fork begins, and what is different in it. */
export type NewFork = Partial<Schemas["NewFork"]>;

/** What may be different when a run goes on. */
export type Limits = Partial<Schemas["Limits"]>;

/** Whether a repeated run went the same way, and where not. */
export type Replayed = Schemas["Replayed"];

const PAGE_SIZE = 50;
const REFETCH_MS = 3_000;

/** The runs of the workspace, the newest first, page by page; looked at again while it is shown. */
export function useRuns(filter: RunFilter = {}) {
  return useInfiniteQuery({
    queryKey: ["runs", filter],
    queryFn: ({ pageParam, signal }) =>
      getJson<RunPage>("runs", { query: { ...filter, limit: PAGE_SIZE, cursor: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    refetchInterval: REFETCH_MS,
  });
}

/** One run, looked at again until it ends. */
export function useRun(id: string, enabled = true) {
  return useQuery({
    enabled,
    queryKey: ["run", id],
    queryFn: ({ signal }) => getJson<Run>(path`runs/${id}`, { signal }),
    refetchInterval: (query) =>
      query.state.data && FINAL_STATUSES.has(query.state.data.status) ? false : REFETCH_MS,
  });
}

function useRunMutation<Input, Result>(mutate: (input: Input) => Promise<Result>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: mutate,
    onSettled: () =>
      Promise.all(
        ["runs", "run", "approvals", "sessions"].map((name) =>
          client.invalidateQueries({ queryKey: [name] }),
        ),
      ),
  });
}

/** Starts a run: `mutate(request)` returns `{run_id, created}`. */
export function useCreateRun() {
  return useRunMutation((request: NewRun) =>
    sendJson<Schemas["MadeDocument"]>("POST", "runs", { body: request, idempotencyKey: newIdempotencyKey() }),
  );
}

/** Cancels a run. */
export function useCancelRun() {
  return useRunMutation(({ id, reason }: { id: string; reason?: string }) =>
    sendJson<Run>("POST", path`runs/${id}/cancel`, { body: reason ? { reason } : {} }),
  );
}

/** Resumes a waiting or interrupted run. */
export function useResumeRun() {
  return useRunMutation(({ id, limits }: { id: string; limits?: Limits }) =>
    sendJson<Run>("POST", path`runs/${id}/resume`, { body: limits ?? {} }),
  );
}

/** Forks a run from one of its events. */
export function useForkRun() {
  return useRunMutation(({ id, request }: { id: string; request: NewFork }) =>
    sendJson<Schemas["MadeDocument"]>("POST", path`runs/${id}/fork`, {
      body: request,
      idempotencyKey: newIdempotencyKey(),
    }),
  );
}

/** Repeats a run with what it recorded; nothing is executed. */
export function useReplayRun() {
  return useRunMutation(({ id }: { id: string }) =>
    sendJson<Replayed>("POST", path`runs/${id}/replay`, { body: {} }),
  );
}

/** Sends a message to a run. */
export function useSendMessage() {
  return useRunMutation(({ id, text }: { id: string; text: string }) =>
    sendJson<Schemas["Receipt"]>("POST", path`runs/${id}/messages`, {
      body: { text },
      idempotencyKey: newIdempotencyKey(),
    }),
  );
}

/** The answer to a question: one text, or one for each part. */
export interface NewAnswer {
  id: string;
  call_id?: string;
  answer?: string;
  answers?: Record<string, string>;
}

/** Answers what a run has asked. */
export function useAnswer() {
  return useRunMutation(({ id, ...body }: NewAnswer) =>
    sendJson<Schemas["Receipt"]>("POST", path`runs/${id}/answers`, {
      body,
      idempotencyKey: newIdempotencyKey(),
    }),
  );
}

/** Accepts a result, or sends it back with a note. */
export function useReview() {
  return useRunMutation(({ id, ...body }: { id: string; decision: "approve" | "revise"; note?: string }) =>
    sendJson<Run>("POST", path`runs/${id}/review`, { body }),
  );
}
