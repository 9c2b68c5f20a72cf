import type { Draft } from "./draft";
import { applyRequests, closeRequests } from "./foldRequests";
import type { CallItem } from "./items";
import type { AnyTypedEvent, Data, TypedEvent } from "./types";

/** Calls of tools, and everything that belongs to one. */
export function applyCall(draft: Draft, event: AnyTypedEvent): void {
  switch (event.type) {
    case "tool_call_requested":
      addCall(draft, event);
      break;
    case "tool_call_started":
      draft.change(draft.calls.get(event.payload.call_id), "call", event, () => ({
        state: "running",
        effect: event.payload.effect ?? "effectful",
        started_at: event.timestamp,
      }));
      break;
    case "tool_call_finished":
      finishCall(draft, event);
      break;
    case "file_operation":
      draft.change(draft.findCallIndex(event.payload.call_id), "call", event, (call) => ({
        files: [...call.files, { ...event.payload, seq: event.seq }],
      }));
      break;
    case "network_decision":
      draft.change(draft.findCallIndex(event.payload.call_id), "call", event, (call) => ({
        network: [
          ...call.network.filter((access) => access.number !== event.payload.number),
          { ...event.payload, seq: event.seq },
        ],
      }));
      break;
    case "child_run_started":
    case "child_run_finished":
      applyChild(draft, event);
      break;
    case "run_completed":
    case "run_failed":
    case "run_cancelled":
      abandonCalls(draft, event);
      break;
    default:
  }
  applyRequests(draft, event);
}

function addCall(draft: Draft, event: TypedEvent<"tool_call_requested">): void {
  const { payload } = event;
  const index = draft.add(event, {
    kind: "call",
    call_id: payload.call_id,
    tool: payload.tool,
    arguments: payload.arguments ?? {},
    arguments_blob: payload.arguments_blob ?? null,
    arguments_valid: payload.arguments_valid ?? true,
    arguments_error: payload.raw_arguments_error ?? null,
    accepted: false,
    state: "requested",
    effect: "",
    started_at: null,
    ended_at: null,
    duration_ms: null,
    result: null,
    result_blob: null,
    size: null,
    sandbox: null,
    approvals: [],
    files: [],
    network: [],
    children: [],
  });
  draft.calls.set(payload.call_id, index);
  draft.streaming.push(index);
}

function finishCall(draft: Draft, event: TypedEvent<"tool_call_finished">): void {
  const { payload } = event;
  draft.change(draft.calls.get(payload.call_id), "call", event, (call) => ({
    state: isDenied(call) ? "denied" : payload.result.ok ? "ok" : "failed",
    ended_at: event.timestamp,
    duration_ms: durationOf(call, payload.result, event.timestamp),
    result: payload.result,
    result_blob: payload.result_blob ?? null,
    size: payload.size ?? null,
    sandbox: dataOf(dataOf(payload.result.data)?.sandbox),
  }));
  closeRequests(draft, payload.call_id);
}

/** Whether the last decision on the call itself was no approval. */
function isDenied(call: CallItem): boolean {
  const decided = call.approvals.findLast(
    (approval) => approval.call_id === call.call_id && approval.decision !== null,
  );
  return decided !== undefined && !decided.decision?.startsWith("approved");
}

function durationOf(call: CallItem, result: Data, ended: string): number | null {
  if (typeof result.duration_ms === "number") {
    return result.duration_ms;
  }
  const took = call.started_at === null ? Number.NaN : Date.parse(ended) - Date.parse(call.started_at);
  return Number.isFinite(took) ? Math.max(0, took) : null;
}

function dataOf(value: unknown): Data | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Data) : null;
}

function applyChild(
  draft: Draft,
  event: TypedEvent<"child_run_started"> | TypedEvent<"child_run_finished">,
): void {
  const id = event.payload.child_run_id;
  const index = draft.children.get(id);
  if (event.type === "child_run_finished") {
    const { payload } = event;
    draft.change(index, "child", event, () => ({
      status: payload.status,
      tokens: (payload.input_tokens ?? 0) + (payload.output_tokens ?? 0),
      cost_usd: payload.cost_usd ?? null,
      tool_calls: payload.tool_calls ?? 0,
    }));
    return;
  }
  if (index !== undefined) {
    draft.change(index, "child", event, () => ({ status: "running" }));
    return;
  }
  const { payload } = event;
  const added = draft.add(event, {
    kind: "child",
    run_id: id,
    call_id: payload.call_id,
    message: payload.message ?? "",
    profile_id: payload.profile_id ?? "",
    status: "running",
    tokens: 0,
    cost_usd: null,
    tool_calls: 0,
  });
  draft.children.set(id, added);
  draft.change(draft.findCallIndex(payload.call_id), "call", event, (call) => ({
    children: [...call.children, id],
  }));
}

/** What is still open at the end of a run will never be finished. */
function abandonCalls(draft: Draft, event: AnyTypedEvent): void {
  for (const index of draft.calls.values()) {
    if (draft.at(index, "call")?.result === null) {
      draft.change(index, "call", event, () => ({ state: "abandoned" }));
    }
  }
}
