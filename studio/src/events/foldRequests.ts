import type { Draft } from "./draft";
import type { ApprovalView } from "./items";
import type { AnyTypedEvent, TypedEvent } from "./types";

const CONTEXT = "context-recovery";

/** Approvals and questions, open and settled; the same rules as `projections/pending.py`. */
export function applyRequests(draft: Draft, event: AnyTypedEvent): void {
  switch (event.type) {
    case "approval_requested":
      addApproval(draft, event);
      break;
    case "approval_decided":
      applyDecision(draft, event);
      break;
    case "approval_refused":
      applyRefusal(draft, event);
      break;
    case "human_request":
      addQuestion(draft, event);
      break;
    case "human_response":
      applyResponse(draft, event);
      break;
    case "inbox_received":
      if (event.payload.kind === "answer") {
        applyInboxAnswer(draft, event);
      }
      break;
    case "context_recovery_decided":
      closeRequests(draft, CONTEXT);
      break;
    case "run_completed":
    case "run_failed":
    case "run_cancelled":
      for (const index of draft.questions.values()) {
        draft.change(index, "question", event, () => ({ open: false }));
      }
      draft.approvals.clear();
      draft.questions.clear();
      break;
    default:
  }
}

/** Forgets what a settled call asked; one that asked again counted its questions. */
export function closeRequests(draft: Draft, callId: string): void {
  for (const [name, index] of [...draft.questions]) {
    if (name === callId || name.startsWith(`${callId}#`)) {
      draft.questions.delete(name);
      const item = draft.at(index, "question");
      if (item) {
        draft.items[index] = { ...item, open: false };
      }
    }
  }
  const view = [...draft.approvals].find(([id, index]) => findApproval(draft, id, index)?.call_id === callId);
  if (view) {
    draft.approvals.delete(view[0]);
  }
}

function findApproval(draft: Draft, id: string, index: number): ApprovalView | undefined {
  const item = draft.items[index];
  if (item?.kind === "approval") {
    return item.approval;
  }
  return item?.kind === "call"
    ? item.approvals.findLast((approval) => approval.approval_id === id)
    : undefined;
}

function addApproval(draft: Draft, event: TypedEvent<"approval_requested">): void {
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
  let index = draft.findCallIndex(payload.call_id);
  if (index === undefined) {
    index = draft.add(event, { kind: "approval", approval });
  } else {
    draft.change(index, "call", event, (call) => ({
      state: "waiting",
      approvals: [...call.approvals, approval],
    }));
  }
  draft.approvals.set(approval.approval_id, index);
}

function applyDecision(draft: Draft, event: TypedEvent<"approval_decided">): void {
  const { payload } = event;
  const id = payload.approval_id || payload.approval_key;
  updateApproval(draft, event, id, {
    decision: payload.decision,
    decided_at: event.timestamp,
    decided_by: payload.decided_by ?? "",
    reason: payload.reason ?? "",
    note: payload.note ?? "",
    added_rule: payload.rule && Object.keys(payload.rule).length > 0 ? payload.rule : null,
    arguments_changed: Boolean(payload.arguments_blob),
  });
}

function applyRefusal(draft: Draft, event: TypedEvent<"approval_refused">): void {
  const { payload } = event;
  if (payload.call_id) {
    updateApproval(draft, event, payload.approval_id ?? "", { refused: payload.message || payload.reason });
  }
}

/** Writes what became of a request where it was asked; a decision without a request belongs to its call alone. */
function updateApproval(
  draft: Draft,
  event: TypedEvent<"approval_decided"> | TypedEvent<"approval_refused">,
  id: string,
  outcome: Partial<ApprovalView>,
): void {
  const index = draft.approvals.get(id) ?? draft.findCallIndex(event.payload.call_id);
  draft.approvals.delete(id);
  draft.change(index, "approval", event, (item) => ({ approval: { ...item.approval, ...outcome } }));
  draft.change(index, "call", event, (call) => {
    const latest = call.approvals.findLastIndex((approval) => approval.approval_id === id);
    const approvals = call.approvals.map((approval, position) =>
      position === latest ? { ...approval, ...outcome } : approval,
    );
    const isOwnRequest = event.payload.call_id === call.call_id;
    const isDenied = outcome.decision !== undefined && !outcome.decision?.startsWith("approved");
    return {
      approvals,
      state: call.started_at ? "running" : isOwnRequest && isDenied ? "denied" : "requested",
    };
  });
}

function addQuestion(draft: Draft, event: TypedEvent<"human_request">): void {
  const { payload } = event;
  const index = draft.add(event, {
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
  draft.questions.set(payload.call_id, index);
}

function applyResponse(draft: Draft, event: TypedEvent<"human_response">): void {
  const { call_id: callId, answer = "", answers } = event.payload;
  const index =
    draft.questions.get(callId) ??
    draft.items.findLastIndex((item) => item.kind === "question" && item.call_id === callId);
  draft.questions.delete(callId);
  const values = answers && Object.keys(answers).length > 0 ? answers : { answer };
  draft.change(index, "question", event, () => ({
    answers: values,
    answered_at: event.timestamp,
    open: false,
  }));
}

/** An answer reached the run; one that names no question belongs to the oldest. */
function applyInboxAnswer(draft: Draft, event: TypedEvent<"inbox_received">): void {
  const body = event.payload.body ?? {};
  const callId = String(body.call_id || (draft.questions.keys().next().value ?? ""));
  const index = draft.questions.get(callId);
  if (index === undefined) {
    return;
  }
  draft.questions.delete(callId);
  const values =
    typeof body.answers === "object" && body.answers !== null ? body.answers : { answer: body.answer ?? "" };
  const answers = Object.fromEntries(Object.entries(values).map(([name, text]) => [name, String(text)]));
  draft.change(index, "question", event, () => ({ answers, answered_at: event.timestamp, open: false }));
}
