import type { Draft } from "./draft";
import type { AnyTypedEvent, LogEvent, TypedEvent } from "./types";

const CLOSING = new Set(["tool_call_started", "run_completed"]);

/** What was said: only answers that became complete count; the same rules as `projections/conversation.py`. */
export function applyMessages(draft: Draft, event: AnyTypedEvent): void {
  // Logs of version 0 do not say that an answer is complete, but these only happen when it is.
  if (draft.streaming.length > 0 && CLOSING.has(event.type)) {
    acceptResponse(draft, event);
  }
  switch (event.type) {
    case "run_started":
      addTask(draft, event);
      break;
    case "history_loaded":
      addHistory(draft, event);
      break;
    case "inbox_received":
      if (event.payload.kind === "steer") {
        draft.add(event, { kind: "user", source: "steer", text: String(event.payload.body?.text ?? "") });
      }
      break;
    case "output_rejected":
      draft.add(event, { kind: "user", source: "rejected", text: event.payload.message });
      break;
    case "llm_request_started":
      discardResponse(draft, event);
      draft.purpose = event.payload.purpose ?? "answer";
      break;
    case "llm_response_delta":
      appendDelta(draft, event);
      break;
    case "llm_response_finished":
      acceptResponse(draft, event);
      break;
    case "run_failed":
    case "run_cancelled":
      discardResponse(draft, event);
      break;
    default:
  }
}

/** The task is shown when it is new: a fork may have been given another one. */
function addTask(draft: Draft, event: TypedEvent<"run_started">): void {
  const last = draft.items.findLast((item) => item.kind === "user" && item.source === "task");
  if (last?.kind !== "user" || last.text !== event.payload.task) {
    draft.add(event, { kind: "user", source: "task", text: event.payload.task });
  }
}

function addHistory(draft: Draft, event: TypedEvent<"history_loaded">): void {
  for (const [number, message] of event.payload.messages.entries()) {
    const text = message.content ?? "";
    const index =
      message.role === "assistant"
        ? draft.add(event, {
            kind: "assistant",
            text,
            model: "",
            purpose: "answer",
            complete: true,
            discarded: false,
            history: true,
          })
        : draft.add(event, { kind: "user", source: "history", text });
    const item = draft.items[index];
    if (item) {
      draft.items[index] = { ...item, key: `${item.key}-${number}` };
    }
  }
}

function appendDelta(draft: Draft, event: TypedEvent<"llm_response_delta">): void {
  const { delta_type: type, text = "" } = event.payload;
  const kind = type === "text" ? "assistant" : type === "reasoning" ? "reasoning" : null;
  if (kind === null || text === "") {
    return;
  }
  const last = draft.streaming.at(-1);
  if (draft.at(last, kind)) {
    draft.change(last, kind, event, (item) => ({ text: item.text + text }));
    return;
  }
  const fields = { text, complete: false };
  draft.streaming.push(
    kind === "reasoning"
      ? draft.add(event, { kind, ...fields })
      : draft.add(event, {
          kind,
          ...fields,
          model: draft.state.model,
          purpose: draft.purpose,
          discarded: false,
          history: false,
        }),
  );
}

/** The answer that came in counts now, and so do its calls. */
function acceptResponse(draft: Draft, event: LogEvent<string, unknown>): void {
  const logEvent = event as LogEvent;
  for (const index of draft.streaming) {
    draft.change(index, "assistant", logEvent, () => ({ complete: true }));
    draft.change(index, "reasoning", logEvent, () => ({ complete: true }));
    draft.change(index, "call", logEvent, () => ({ accepted: true }));
  }
  draft.streaming = [];
  draft.answers += 1;
}

/** The answer that was coming in never became complete. */
function discardResponse(draft: Draft, event: LogEvent<string, unknown>): void {
  const logEvent = event as LogEvent;
  for (const index of draft.streaming) {
    draft.change(index, "assistant", logEvent, () => ({ complete: true, discarded: true }));
    draft.change(index, "reasoning", logEvent, () => ({ complete: true }));
    draft.change(index, "call", logEvent, () => ({ state: "abandoned" }));
  }
  draft.streaming = [];
}
