import type { Draft } from "./draft";
import type { ApprovalView } from "./items";
import type { Known, KnownEvent } from "./types";

const CONTEXT = "context-recovery";

/** Approvals and questions, open and settled; the same rules as `projections/pending.py`. */
export function applyAsking(draft: Draft, event: KnownEvent): void {
  switch (event.type) {
    case "approval_requested":
      ask(draft, event);
      break;
    case "approval_decided":
      decide(draft, event);
      break;
    case "approval_refused":
      refuse(draft, event);
      break;
    case "human_request":
      question(draft, event);
      break;
    case "human_response":
      respond(draft, event);
      break;
    case "inbox_received":
      if (event.payload.kind === "answer") {
        receive(draft, event);
      }
      break;
    case "context_recovery_decided":
      close(draft, CONTEXT);
      break;
    case "run_completed":
    case "run_failed":
    case "run_cancelled":
      for (const place of draft.questions.values()) {
        draft.change(place, "question", event, () => ({ open: false }));
      }
      draft.approvals.clear();
      draft.questions.clear();
      break;
    default:
  }
}

/** Forgets what a settled call asked; one that asked again counted its questions. */
export function close(draft: Draft, callId: string): void {
  for (const [name, place] of [...draft.questions]) {
    if (name === callId || name.startsWith(`${callId}#`)) {
      draft.questions.delete(name);
      const item = draft.at(place, "question");
      if (item) {
        draft.items[place] = { ...item, open: false };
      }
    }
  }
  const view = [...draft.approvals].find(([id, place]) => approvalOf(draft, id, place)?.call_id === callId);
  if (view) {
    draft.approvals.delete(view[0]);
  }
}

function approvalOf(draft: Draft, id: string, place: number): ApprovalView | undefined {
  const item = draft.items[place];
  if (item?.kind === "approval") {
    return item.approval;
  }
  return item?.kind === "call" ? item.approvals.findLast((one) => one.approval_id === id) : undefined;
}

function ask(draft: Draft, event: Known<"approval_requested">): void {
  const { payload } = event;
  const approval: ApprovalView = {
    approval_id: payload.approval_id || payload.approval_key,
    approval_key: payload.approval_key,
    call_id: payload.call_id ?? "",
    tool: payload.tool,
    summary: payload.summary ?? "",
    request: payload.request ?? {},
    rule: payload.rule ?? "",
    risk: payload.risk ?? {},
    expires_at: payload.expires_at ?? "",
    seq: event.seq,
    since: event.timestamp,
    decision: null,
    decided_at: null,
    decided_by: "",
    reason: "",
    note: "",
    added_rule: null,
    arguments_changed: false,
    refused: "",
  };
  let place = draft.callPlace(payload.call_id);
  if (place === undefined) {
    place = draft.add(event, { kind: "approval", approval });
  } else {
    draft.change(place, "call", event, (call) => ({
      state: "waiting",
      approvals: [...call.approvals, approval],
    }));
  }
  draft.approvals.set(approval.approval_id, place);
}

function decide(draft: Draft, event: Known<"approval_decided">): void {
  const { payload } = event;
  const id = payload.approval_id || payload.approval_key;
  settle(draft, event, id, {
    decision: payload.decision,
    decided_at: event.timestamp,
    decided_by: payload.decided_by ?? "",
    reason: payload.reason ?? "",
    note: payload.note ?? "",
    added_rule: payload.rule && Object.keys(payload.rule).length > 0 ? payload.rule : null,
    arguments_changed: Boolean(payload.arguments_blob),
  });
}

function refuse(draft: Draft, event: Known<"approval_refused">): void {
  const { payload } = event;
  if (payload.call_id) {
    settle(draft, event, payload.approval_id ?? "", { refused: payload.message || payload.reason });
  }
}

/** Writes what became of a request where it was asked; a decision without a request belongs to its call alone. */
function settle(
  draft: Draft,
  event: Known<"approval_decided"> | Known<"approval_refused">,
  id: string,
  outcome: Partial<ApprovalView>,
): void {
  const place = draft.approvals.get(id) ?? draft.callPlace(event.payload.call_id);
  draft.approvals.delete(id);
  draft.change(place, "approval", event, (item) => ({ approval: { ...item.approval, ...outcome } }));
  draft.change(place, "call", event, (call) => {
    const at = call.approvals.findLastIndex((one) => one.approval_id === id);
    const approvals = call.approvals.map((one, index) => (index === at ? { ...one, ...outcome } : one));
    const whole = event.payload.call_id === call.call_id;
    const denied = outcome.decision !== undefined && !outcome.decision?.startsWith("approved");
    return { approvals, state: call.started_at ? "running" : whole && denied ? "denied" : "requested" };
  });
}

function question(draft: Draft, event: Known<"human_request">): void {
  const { payload } = event;
  const place = draft.add(event, {
    kind: "question",
    call_id: payload.call_id,
    question: payload.question ?? "",
    choices: payload.choices ?? [],
    context: payload.context ?? "",
    questions: payload.questions ?? [],
    answers: null,
    answered_at: null,
    open: true,
  });
  draft.questions.set(payload.call_id, place);
}

function respond(draft: Draft, event: Known<"human_response">): void {
  const { call_id: callId, answer = "", answers } = event.payload;
  const place =
    draft.questions.get(callId) ??
    draft.items.findLastIndex((item) => item.kind === "question" && item.call_id === callId);
  draft.questions.delete(callId);
  const given = answers && Object.keys(answers).length > 0 ? answers : { answer };
  draft.change(place, "question", event, () => ({
    answers: given,
    answered_at: event.timestamp,
    open: false,
  }));
}

/** An answer reached the run; one that names no question belongs to the oldest. */
function receive(draft: Draft, event: Known<"inbox_received">): void {
  const body = event.payload.body ?? {};
  const callId = String(body.call_id || (draft.questions.keys().next().value ?? ""));
  const place = draft.questions.get(callId);
  if (place === undefined) {
    return;
  }
  draft.questions.delete(callId);
  const given =
    typeof body.answers === "object" && body.answers !== null ? body.answers : { answer: body.answer ?? "" };
  const answers = Object.fromEntries(Object.entries(given).map(([name, text]) => [name, String(text)]));
  draft.change(place, "question", event, () => ({ answers, answered_at: event.timestamp, open: false }));
}
