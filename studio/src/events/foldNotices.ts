import type { Draft } from "./draft";
import type { AnyTypedEvent, Data, TypedEvent } from "./types";

const NOTICES = new Set([
  "run_state_changed",
  "run_waiting_human",
  "run_adopted",
  "log_repaired",
  "budget_increased",
  "env_var_required",
  "env_var_set",
  "images_attached",
  "context_recovery_decided",
]);

const END = { kind: "end", error_kind: "", details: {} } as const;

/** Everything else that a transcript tells: skills, plans, summaries, errors, the end. */
export function applyNotices(draft: Draft, event: AnyTypedEvent): void {
  switch (event.type) {
    case "skill_injected":
    case "skill_unloaded":
    case "skill_injection_skipped":
    case "skill_routed":
    case "skill_catalog_offered":
      applySkill(draft, event);
      break;
    case "plan_updated":
      draft.plan = event.payload.plan;
      draft.add(event, {
        kind: "plan",
        plan: event.payload.plan,
        explanation: event.payload.explanation ?? "",
      });
      break;
    case "artifact_manifest_written":
      draft.add(event, {
        kind: "artifacts",
        count: event.payload.artifacts,
        complete: event.payload.complete ?? true,
      });
      break;
    case "run_completed":
      draft.add(event, { ...END, status: "completed", text: event.payload.final_output });
      break;
    case "run_failed":
      draft.add(event, {
        ...END,
        status: "failed",
        text: event.payload.message,
        error_kind: event.payload.error_kind,
        details: event.payload.details ?? {},
      });
      break;
    case "run_cancelled":
      draft.add(event, { ...END, status: "cancelled", text: event.payload.message });
      break;
    default:
      applyErrors(draft, event);
  }
}

function applyErrors(draft: Draft, event: AnyTypedEvent): void {
  switch (event.type) {
    case "context_compacted":
    case "compaction_failed":
      draft.add(event, {
        kind: "compaction",
        reason: event.payload.reason ?? "",
        summary: event.type === "context_compacted" ? event.payload.summary : null,
        error: event.type === "compaction_failed" ? event.payload.error : null,
        kept_messages: event.type === "context_compacted" ? event.payload.kept_messages : 0,
      });
      break;
    case "llm_retry_scheduled":
      addError(draft, event, event.payload.error_kind, event.payload.message ?? "");
      break;
    case "context_length_exceeded":
      addError(draft, event, "context_length_exceeded", "");
      break;
    default:
      if (NOTICES.has(event.type)) {
        draft.add(event, { kind: "notice", type: event.type, details: event.payload as unknown as Data });
      }
  }
}

function addError(draft: Draft, event: AnyTypedEvent, kind: string, message: string): void {
  const details = event.payload as unknown as Data;
  draft.add(event, { kind: "error", level: "warning", error_kind: kind, message, details });
}

type SkillEvent =
  | TypedEvent<"skill_injected">
  | TypedEvent<"skill_unloaded">
  | TypedEvent<"skill_injection_skipped">
  | TypedEvent<"skill_routed">
  | TypedEvent<"skill_catalog_offered">;

const ACTIONS = {
  skill_injected: "injected",
  skill_unloaded: "unloaded",
  skill_injection_skipped: "skipped",
  skill_routed: "routed",
  skill_catalog_offered: "offered",
} as const;

function applySkill(draft: Draft, event: SkillEvent): void {
  const details = event.payload as unknown as Data;
  draft.add(event, {
    kind: "skill",
    action: ACTIONS[event.type],
    name: String(details.skill_name ?? details.mention_text ?? ""),
    reason: String(details.reason ?? ""),
    details,
  });
  if (event.type === "skill_unloaded") {
    draft.skills = draft.skills.filter((name) => name !== event.payload.mention_text);
  } else if (event.type === "skill_injected" && event.payload.text_blob) {
    const mention = event.payload.mention_text ?? "";
    draft.skills = [...draft.skills.filter((name) => name !== mention), mention];
  }
}
