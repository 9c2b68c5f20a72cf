import type { Data, Payloads } from "./types";

/** How far a call came. */
export type CallState = "requested" | "waiting" | "denied" | "running" | "ok" | "failed" | "abandoned";

/** A request for approval, and what became of it; a settled one stays where it was asked. */
export interface ApprovalView {
  approval_id: string;
  approval_key: string;
  call_id: string;
  tool: string;
  summary: string;
  request: Data;
  rule: string;
  risk: Readonly<Record<string, string>>;
  expires_at: string;
  seq: number;
  since: string;
  decision: string | null;
  decided_at: string | null;
  decided_by: string;
  /** Where the decision came from, such as `inbox` or `timeout`. */
  reason: string;
  note: string;
  added_rule: Data | null;
  arguments_changed: boolean;
  /** Why the request itself became void. */
  refused: string;
}

interface Item {
  /** Stays the same while the item grows. */
  key: string;
  /** The event that began it. */
  seq: number;
  /** The event that changed it last. */
  last_seq: number;
  at: string;
  turn_id: string | null;
  step_id: string | null;
}

/** What a person, or an earlier run of the session, said. */
export interface UserItem extends Item {
  kind: "user";
  text: string;
  source: "task" | "steer" | "history" | "rejected";
}

/** What the model said; not complete while it comes in, discarded when it never became complete. */
export interface AssistantItem extends Item {
  kind: "assistant";
  text: string;
  model: string;
  purpose: string;
  complete: boolean;
  discarded: boolean;
  history: boolean;
}

/** What the model thought before it spoke. */
export interface ReasoningItem extends Item {
  kind: "reasoning";
  text: string;
  complete: boolean;
}

/** A call of a tool, with everything that belongs to it. */
export interface CallItem extends Item {
  kind: "call";
  call_id: string;
  tool: string;
  arguments: Data;
  arguments_blob: string | null;
  arguments_valid: boolean;
  arguments_error: string | null;
  /** False until the answer that asks for it is complete. */
  accepted: boolean;
  state: CallState;
  effect: string;
  started_at: string | null;
  ended_at: string | null;
  /** How long it took, from its result or from its events. */
  duration_ms: number | null;
  result: Data | null;
  result_blob: string | null;
  size: number | null;
  /** What the sandbox recorded: `result.data.sandbox`. */
  sandbox: Data | null;
  approvals: readonly ApprovalView[];
  files: readonly (Payloads["file_operation"] & { seq: number })[];
  network: readonly (Payloads["network_decision"] & { seq: number })[];
  children: readonly string[];
}

/** A question to a person, and the answer. */
export interface QuestionItem extends Item {
  kind: "question";
  call_id: string;
  question: string;
  choices: readonly string[];
  context: string;
  questions: readonly Data[];
  answers: Readonly<Record<string, string>> | null;
  answered_at: string | null;
  /** True while it waits for an answer. */
  open: boolean;
}

/** A request for approval that belongs to no call that is shown. */
export interface ApprovalItem extends Item {
  kind: "approval";
  approval: ApprovalView;
}

/** Something that went wrong; `warning` when the run went on. */
export interface ErrorItem extends Item {
  kind: "error";
  level: "error" | "warning";
  error_kind: string;
  message: string;
  details: Data;
}

/** The conversation was summed up, or that failed. */
export interface CompactionItem extends Item {
  kind: "compaction";
  reason: string;
  summary: string | null;
  error: string | null;
  kept_messages: number;
}

/** Something about a skill. */
export interface SkillItem extends Item {
  kind: "skill";
  action: "injected" | "unloaded" | "skipped" | "routed" | "offered";
  name: string;
  reason: string;
  details: Data;
}

/** A run that this one began. */
export interface ChildItem extends Item {
  kind: "child";
  run_id: string;
  call_id: string;
  message: string;
  profile_id: string;
  status: string;
  tokens: number;
  cost_usd: number | null;
  tool_calls: number;
}

/** The plan of the model as it was changed. */
export interface PlanItem extends Item {
  kind: "plan";
  plan: readonly { step?: string; status?: string }[];
  explanation: string;
}

/** The list of files was written. */
export interface ArtifactsItem extends Item {
  kind: "artifacts";
  count: number;
  complete: boolean;
}

/** A small fact about the run; `type` is that of the event. */
export interface NoticeItem extends Item {
  kind: "notice";
  type: string;
  details: Data;
}

/** The end of the run. */
export interface EndItem extends Item {
  kind: "end";
  status: "completed" | "failed" | "cancelled";
  text: string;
  /** Why it failed, with the parameters of that kind; empty otherwise. */
  error_kind: string;
  details: Data;
}

/** One entry of the transcript, told apart by `kind`. */
export type TranscriptItem =
  | UserItem
  | AssistantItem
  | ReasoningItem
  | CallItem
  | QuestionItem
  | ApprovalItem
  | ErrorItem
  | CompactionItem
  | SkillItem
  | ChildItem
  | PlanItem
  | ArtifactsItem
  | NoticeItem
  | EndItem;
