import type { ApprovalView, QuestionItem, TranscriptItem } from "./items";

/** Where a run stands, with the names that the server uses. */
export interface RunState {
  run_id: string;
  session_id: string;
  task_id: string;
  profile_id: string;
  kind: string;
  attempt: number;
  parent_run_id: string | null;
  fork: { run_id: string; seq: number } | null;
  required_deliverables: readonly string[];
  workspace_mode: string;
  workspace_root: string;
  from_elsewhere: boolean;
  adopted: boolean;
  task: string;
  model: string;
  status: string;
  created_at: string;
  updated_at: string;
  started_at: string | null;
  completed_at: string | null;
  failure_reason: string | null;
  waiting_message: string;
  waiting_kind: string | null;
  error_kind: string | null;
  final_output: string;
  artifacts: readonly string[];
  last_seq: number;
  turns: number;
  steps: number;
  tool_calls: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  /** Null while nothing is known, and where the price of an answer is unknown. */
  cost_usd: number | null;
  unpriced: boolean;
}

/** One bar of the timeline; open while it has no end. */
export interface Span {
  key: string;
  kind: "model" | "tool" | "waiting";
  label: string;
  first_seq: number;
  last_seq: number | null;
  started_at: string;
  ended_at: string | null;
  turn_id: string | null;
  call_id: string | null;
  ok: boolean;
}

/** Everything the pages show of a run, folded from its events. */
export interface RunView {
  state: RunState;
  items: readonly TranscriptItem[];
  spans: readonly Span[];
  /** Open requests, the oldest first. */
  approvals: readonly ApprovalView[];
  /** Open questions, the oldest first. */
  questions: readonly QuestionItem[];
  plan: readonly { step?: string; status?: string }[];
  /** Active skills by mention. */
  skills: readonly string[];
  /** Where things stand in the lists; for the fold alone. */
  indexes: ItemIndexes;
}

/** What the fold remembers between events. */
export interface ItemIndexes {
  calls: ReadonlyMap<string, number>;
  approvals: ReadonlyMap<string, number>;
  questions: ReadonlyMap<string, number>;
  children: ReadonlyMap<string, number>;
  openSpans: ReadonlyMap<string, number>;
  /** Items of the answer that is coming in. */
  streaming: readonly number[];
  purpose: string;
  answers: number;
}

/** A run of which nothing is known yet. */
export const EMPTY_VIEW: RunView = {
  state: {
    run_id: "",
    session_id: "",
    task_id: "",
    profile_id: "",
    kind: "agent",
    attempt: 1,
    parent_run_id: null,
    fork: null,
    required_deliverables: [],
    workspace_mode: "",
    workspace_root: "",
    from_elsewhere: false,
    adopted: false,
    task: "",
    model: "",
    status: "pending",
    created_at: "",
    updated_at: "",
    started_at: null,
    completed_at: null,
    failure_reason: null,
    waiting_message: "",
    waiting_kind: null,
    error_kind: null,
    final_output: "",
    artifacts: [],
    last_seq: -1,
    turns: 0,
    steps: 0,
    tool_calls: 0,
    input_tokens: 0,
    output_tokens: 0,
    cached_tokens: 0,
    cost_usd: null,
    unpriced: false,
  },
  items: [],
  spans: [],
  approvals: [],
  questions: [],
  plan: [],
  skills: [],
  indexes: {
    calls: new Map(),
    approvals: new Map(),
    questions: new Map(),
    children: new Map(),
    openSpans: new Map(),
    streaming: [],
    purpose: "answer",
    answers: 0,
  },
};
