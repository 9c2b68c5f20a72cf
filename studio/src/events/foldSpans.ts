import type { Draft } from "./draft";
import type { AnyTypedEvent, LogEvent } from "./types";
import type { Span } from "./view";

/** The bars of the timeline; the same rules as `projections/timeline.py`. */
export function applySpans(draft: Draft, event: AnyTypedEvent): void {
  switch (event.type) {
    case "llm_request_started":
      endSpan(draft, "model", event, false);
      startSpan(draft, "model", "model", event.payload.model, event, null);
      break;
    case "llm_response_finished":
      endSpan(draft, "model", event, true);
      break;
    case "tool_call_started":
      startSpan(
        draft,
        `tool:${event.payload.call_id}`,
        "tool",
        event.payload.tool,
        event,
        event.payload.call_id,
      );
      break;
    case "tool_call_finished":
      endSpan(draft, `tool:${event.payload.call_id}`, event, Boolean(event.payload.result.ok));
      break;
    case "human_request":
      startSpan(draft, `human:${event.payload.call_id}`, "waiting", "question", event, event.payload.call_id);
      break;
    case "human_response":
      endSpan(draft, `human:${event.payload.call_id}`, event, true);
      break;
    case "approval_requested":
      startSpan(
        draft,
        approvalKey(event),
        "waiting",
        event.payload.tool,
        event,
        event.payload.call_id ?? null,
      );
      break;
    case "approval_decided":
      endSpan(draft, approvalKey(event), event, event.payload.decision.startsWith("approved"));
      break;
    case "approval_refused":
      if (event.payload.call_id) {
        endSpan(draft, approvalKey(event), event, false);
      }
      break;
    case "run_completed":
    case "run_failed":
    case "run_cancelled":
      for (const key of [...draft.openSpans.keys()]) {
        endSpan(draft, key, event, false);
      }
      break;
    default:
  }
}

function approvalKey(
  event: AnyTypedEvent & { type: "approval_requested" | "approval_decided" | "approval_refused" },
): string {
  return `approval:${event.payload.approval_id || event.payload.approval_key}`;
}

function startSpan(
  draft: Draft,
  key: string,
  kind: Span["kind"],
  label: string,
  event: LogEvent<string, unknown>,
  call: string | null,
) {
  draft.openSpans.set(key, draft.spans.length);
  draft.spans.push({
    key: `${event.seq}-${kind}`,
    kind,
    label,
    first_seq: event.seq,
    last_seq: null,
    started_at: event.timestamp,
    ended_at: null,
    turn_id: event.turn_id ?? null,
    call_id: call,
    ok: true,
  });
}

function endSpan(draft: Draft, key: string, event: LogEvent<string, unknown>, ok: boolean): void {
  const index = draft.openSpans.get(key);
  const span = index === undefined ? undefined : draft.spans[index];
  if (span && index !== undefined) {
    draft.openSpans.delete(key);
    draft.spans[index] = { ...span, last_seq: event.seq, ended_at: event.timestamp, ok };
  }
}
