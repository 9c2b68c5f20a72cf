import type { AnyTypedEvent } from "./types";
import type { RunState } from "./view";

const STATUSES = new Set(
  "pending running waiting_for_tool waiting_for_user review_required revision_required completed failed cancelled".split(
    " ",
  ),
);
const FINAL = new Set(["completed", "failed", "cancelled"]);

/** Where the run stands after an event; the same rules as `projections/state.py`. */
export function applyState(state: RunState, event: AnyTypedEvent): void {
  state.last_seq = event.seq;
  updateStatus(state, event);
  state.updated_at = event.timestamp;
}

function updateStatus(state: RunState, event: AnyTypedEvent): void {
  switch (event.type) {
    case "run_created":
      initializeState(state, event);
      break;
    case "sandbox_created":
      state.workspace_mode = event.payload.workspace_mode;
      break;
    case "run_started":
      state.run_id ||= event.run_id;
      state.created_at ||= event.timestamp;
      state.task = event.payload.task;
      state.workspace_root = event.payload.workspace_root ?? "";
      state.from_elsewhere = false;
      setStatus(state, "running", event.timestamp);
      break;
    case "run_adopted":
      state.from_elsewhere = true;
      state.adopted = true;
      break;
    case "run_state_changed":
      if (STATUSES.has(event.payload.to)) {
        setStatus(state, event.payload.to, event.timestamp);
      }
      break;
    case "run_waiting_human":
      setStatus(state, "waiting_for_user", event.timestamp);
      state.waiting_message = event.payload.message;
      state.waiting_kind = event.payload.error_kind ?? "human_required";
      break;
    case "run_completed":
      state.final_output = event.payload.final_output;
      state.artifacts = event.payload.artifacts ?? [];
      setStatus(state, "completed", event.timestamp);
      break;
    case "run_failed":
      state.error_kind = event.payload.error_kind;
      state.failure_reason = event.payload.message;
      setStatus(state, "failed", event.timestamp);
      break;
    case "run_cancelled":
      state.failure_reason = event.payload.message;
      setStatus(state, "cancelled", event.timestamp);
      break;
    default:
      countUsage(state, event);
  }
}

function countUsage(state: RunState, event: AnyTypedEvent): void {
  switch (event.type) {
    case "llm_request_started":
      state.model = event.payload.model;
      state.turns += 1;
      break;
    case "llm_usage":
      state.input_tokens += event.payload.input_tokens ?? 0;
      state.output_tokens += event.payload.output_tokens ?? 0;
      state.cached_tokens += event.payload.cached_tokens ?? 0;
      state.unpriced ||= (event.payload.cost_usd ?? null) === null;
      state.cost_usd = state.unpriced ? null : (state.cost_usd ?? 0) + (event.payload.cost_usd ?? 0);
      break;
    case "tool_call_requested":
      state.tool_calls += 1;
      state.steps = Math.max(state.steps, numberOf(event.step_id));
      break;
    default:
  }
}

function initializeState(state: RunState, event: AnyTypedEvent & { type: "run_created" }): void {
  const { payload } = event;
  state.run_id = event.run_id;
  state.created_at = event.timestamp;
  state.session_id = payload.session_id;
  state.task_id = payload.task_id;
  state.profile_id = payload.profile_id;
  state.kind = payload.kind ?? "agent";
  state.attempt = payload.attempt ?? 1;
  state.parent_run_id = payload.parent_run_id ?? null;
  state.fork = payload.fork ?? null;
  state.required_deliverables = payload.required_deliverables ?? [];
}

function setStatus(state: RunState, status: string, at: string): void {
  state.status = status;
  if (status !== "waiting_for_user") {
    state.waiting_message = "";
    state.waiting_kind = null;
  }
  if (status === "running") {
    state.started_at ??= at;
  }
  if (FINAL.has(status)) {
    state.completed_at = at;
  }
}

/** The number in an id such as `step_12`, or 0. */
function numberOf(name: string | null | undefined): number {
  const digits = name?.slice(name.lastIndexOf("_") + 1) ?? "";
  return /^\d{1,9}$/.test(digits) ? Number(digits) : 0;
}
