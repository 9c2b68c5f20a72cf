import type { Draft } from "./draft";
import type { Known, KnownEvent, LogEvent } from "./types";

const CLOSING = new Set(["tool_call_started", "run_completed"]);

/** What was said: only answers that became complete count; the same rules as `projections/conversation.py`. */
export function talk(draft: Draft, event: KnownEvent): void {
  // Logs of version 0 do not say that an answer is complete, but these only happen when it is.
  if (draft.coming.length > 0 && CLOSING.has(event.type)) {
    accept(draft, event);
  }
  switch (event.type) {
    case "run_started":
      start(draft, event);
      break;
    case "history_loaded":
      remember(draft, event);
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
      discard(draft, event);
      draft.purpose = event.payload.purpose ?? "answer";
      break;
    case "llm_response_delta":
      grow(draft, event);
      break;
    case "llm_response_finished":
      accept(draft, event);
      break;
    case "run_failed":
    case "run_cancelled":
      discard(draft, event);
      break;
    default:
  }
}

/** The task is shown when it is new: a fork may have been given another one. */
function start(draft: Draft, event: Known<"run_started">): void {
  const last = draft.items.findLast((item) => item.kind === "user" && item.source === "task");
  if (last?.kind !== "user" || last.text !== event.payload.task) {
    draft.add(event, { kind: "user", source: "task", text: event.payload.task });
  }
}

function remember(draft: Draft, event: Known<"history_loaded">): void {
  for (const [index, said] of event.payload.messages.entries()) {
    const text = said.content ?? "";
    const place =
      said.role === "assistant"
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
    const item = draft.items[place];
    if (item) {
      draft.items[place] = { ...item, key: `${item.key}-${index}` };
    }
  }
}

function grow(draft: Draft, event: Known<"llm_response_delta">): void {
  const { delta_type: type, text = "" } = event.payload;
  const kind = type === "text" ? "assistant" : type === "reasoning" ? "reasoning" : null;
  if (kind === null || text === "") {
    return;
  }
  const last = draft.coming.at(-1);
  if (draft.at(last, kind)) {
    draft.change(last, kind, event, (item) => ({ text: item.text + text }));
    return;
  }
  const more = { text, complete: false };
  draft.coming.push(
    kind === "reasoning"
      ? draft.add(event, { kind, ...more })
      : draft.add(event, {
          kind,
          ...more,
          model: draft.state.model,
          purpose: draft.purpose,
          discarded: false,
          history: false,
        }),
  );
}

/** The answer that came in counts now, and so do its calls. */
function accept(draft: Draft, event: LogEvent<string, unknown>): void {
  const about = event as LogEvent;
  for (const place of draft.coming) {
    draft.change(place, "assistant", about, () => ({ complete: true }));
    draft.change(place, "reasoning", about, () => ({ complete: true }));
    draft.change(place, "call", about, () => ({ accepted: true }));
  }
  draft.coming = [];
  draft.answers += 1;
}

/** The answer that was coming in never became complete. */
function discard(draft: Draft, event: LogEvent<string, unknown>): void {
  const about = event as LogEvent;
  for (const place of draft.coming) {
    draft.change(place, "assistant", about, () => ({ complete: true, discarded: true }));
    draft.change(place, "reasoning", about, () => ({ complete: true }));
    draft.change(place, "call", about, () => ({ state: "abandoned" }));
  }
  draft.coming = [];
}
