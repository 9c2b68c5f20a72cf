import type { ApprovalView, CallItem, Data, LogEvent, RunView } from "../../../events";

/** What an event is about: a call with all that belongs to it, a question to the model, or itself alone. */
export interface Subject {
  event: LogEvent;
  call: CallItem | null;
  approvals: readonly ApprovalView[];
  /** The event that asked the model, and what came of it. */
  model: ModelStep | null;
}

/** One question to the model and its answer. */
export interface ModelStep {
  request: LogEvent;
  text: string;
  reasoning: string;
  calls: readonly CallItem[];
  usage: Data | null;
}

const CHANGES_FILES = new Set(["apply_patch", "file_write"]);

/** Finds what an event is about. */
export function buildSubject(event: LogEvent, events: readonly LogEvent[], view: RunView): Subject {
  const call = findCall(event, view);
  const loose = view.items.find((item) => item.kind === "approval" && item.approval.seq === event.seq);
  return {
    event,
    call,
    approvals: call ? call.approvals : loose?.kind === "approval" ? [loose.approval] : [],
    model: call ? null : findModelStep(event, events, view),
  };
}

/** Whether there are changes of files to show. */
export function hasDiff({ call }: Subject): boolean {
  return call !== null && CHANGES_FILES.has(call.tool) && call.arguments_valid;
}

/** Whether anything about the sandbox is recorded. */
export function hasSandbox({ call, approvals }: Subject): boolean {
  return (
    call !== null && (call.sandbox !== null || call.network.length > 0 || findSandbox(approvals) !== null)
  );
}

/** The sandbox planned in the approval request. */
export function findSandbox(approvals: readonly ApprovalView[]): Data | null {
  return dataOf(dataOf(approvals.at(-1)?.request.bound)?.fence);
}

/** The digest of the details shown with the approval request: the changes by line, and the sandbox. */
export function detailsBlob(call: CallItem, events: readonly LogEvent[]): string | null {
  const seq = call.approvals.findLast((approval) => approval.call_id === call.call_id)?.seq;
  const event = seq === undefined ? undefined : events.find((candidate) => candidate.seq === seq);
  return textOf(event?.payload.details_blob) || null;
}

/** Plain data, or nothing where it is something else. */
export function dataOf(value: unknown): Data | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Data) : null;
}

/** A text, or nothing where it is something else or empty. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A list of texts; what is none is left out. */
export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

function findCall(event: LogEvent, view: RunView): CallItem | null {
  const id = textOf(event.payload.call_id);
  if (!id) {
    return null;
  }
  const callId = id.split("#")[0];
  const item = view.items.findLast(
    (item) => item.kind === "call" && (item.call_id === id || item.call_id === callId),
  );
  return item?.kind === "call" ? item : null;
}

function findModelStep(event: LogEvent, events: readonly LogEvent[], view: RunView): ModelStep | null {
  if (!event.type.startsWith("llm_")) {
    return null;
  }
  const span = view.spans.findLast(
    (candidate) => candidate.kind === "model" && candidate.first_seq <= event.seq,
  );
  const request = events.find((candidate) => candidate.seq === span?.first_seq);
  if (!span || !request) {
    return null;
  }
  const next = view.spans.find(
    (candidate) => candidate.kind === "model" && candidate.first_seq > span.first_seq,
  )?.first_seq;
  const last = next ?? Number.POSITIVE_INFINITY;
  const inside = view.items.filter((item) => item.seq >= span.first_seq && item.seq < last);
  const usage = events.find(
    (candidate) => candidate.type === "llm_usage" && candidate.seq > span.first_seq && candidate.seq < last,
  );
  return {
    request,
    text: inside.flatMap((item) => (item.kind === "assistant" ? [item.text] : [])).join("\n\n"),
    reasoning: inside.flatMap((item) => (item.kind === "reasoning" ? [item.text] : [])).join("\n\n"),
    calls: inside.filter((item): item is CallItem => item.kind === "call"),
    usage: usage?.payload ?? null,
  };
}
