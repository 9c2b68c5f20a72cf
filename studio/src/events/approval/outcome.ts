import type { AnyTypedEvent, LogEvent } from "../types";

/** What became of a request: the decision, or why none counts any more. */
export interface Outcome {
  /** `approved`, `denied`, …; or `refused` and `ended` if no decision was made. */
  kind: string;
  by: string;
  at: string;
  /** The note of the decision, or why the request became void. */
  note: string;
  edited: boolean;
  rule: boolean;
}

const FINAL_EVENTS = new Set(["run_completed", "run_failed", "run_cancelled"]);

/** Finds what became of a request in the events after it; nothing while it is open. */
export function findOutcome(events: readonly LogEvent[], approvalId: string): Outcome | null {
  for (const logEvent of events) {
    const event = logEvent as AnyTypedEvent;
    if (event.type === "approval_decided" && approvalIdOf(event.payload) === approvalId) {
      const { decision, decided_by = "", note = "", reason = "", rule, arguments_blob } = event.payload;
      return {
        kind: reason === "timeout" ? "timeout" : decision,
        by: decided_by,
        at: event.timestamp,
        note,
        edited: Boolean(arguments_blob),
        rule: Boolean(rule && Object.keys(rule).length > 0),
      };
    }
    if (
      event.type === "approval_refused" &&
      event.payload.approval_id === approvalId &&
      event.payload.call_id
    ) {
      return createUndecided("refused", event.timestamp, event.payload.message || event.payload.reason);
    }
    if (FINAL_EVENTS.has(event.type)) {
      return createUndecided("ended", event.timestamp, "");
    }
  }
  return null;
}

/** What was sent about a request and is not in the log yet. */
export function sentOutcome(decision: Record<string, unknown>): Outcome {
  const text = (name: string) => (typeof decision[name] === "string" ? (decision[name] as string) : "");
  const rule = decision.rule;
  return {
    kind: text("decision") || "unknown",
    by: text("decided_by"),
    at: "",
    note: text("note"),
    edited: Boolean(decision.arguments),
    rule: typeof rule === "object" && rule !== null && Object.keys(rule).length > 0,
  };
}

/** The outcome of a request that expired before its run noticed. */
export function expiredOutcome(expiresAt: string, now: number): Outcome | null {
  return Date.parse(expiresAt) <= now ? createUndecided("timeout", expiresAt, "") : null;
}

function createUndecided(kind: string, at: string, note: string): Outcome {
  return { kind, by: "", at, note, edited: false, rule: false };
}

function approvalIdOf(payload: { approval_id?: string; approval_key: string }): string {
  return payload.approval_id || payload.approval_key;
}
