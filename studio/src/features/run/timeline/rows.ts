import type { CallItem, RunView, Span } from "../../../events";
import { type Axis, buildAxis, type Interval, subtractIntervals } from "./axis";

/** How a bar ended. */
export type BarState = "running" | "done" | "failed" | "approved" | "denied" | "answered" | "stopped";

/** One bar: what happened from when to when. */
export interface Bar extends Interval {
  key: string;
  kind: Span["kind"];
  seq: number;
  lastSeq: number;
  state: BarState;
}

/** A step of the model, or a call with what it waited for. */
export interface TimelineRow {
  key: string;
  kind: Span["kind"];
  label: string;
  bars: readonly Bar[];
}

/** Rows and the axis they stand on. */
export interface TimelineLayout {
  rows: readonly TimelineRow[];
  axis: Axis;
}

/** The rows of a run; what is still open reaches until now. */
export function buildLayout(view: RunView, now: number): TimelineLayout {
  const spans = closeSpans(view, now);
  const rows = buildRows(view, spans);
  const bars = rows.flatMap((row) => row.bars);
  const start = Math.min(
    ...bars.slice(0, 1).map((bar) => bar.from),
    timeOf(view.state.started_at, Number.POSITIVE_INFINITY),
  );
  const end = bars.reduce((latest, bar) => Math.max(latest, bar.to), start);
  return {
    rows,
    axis: Number.isFinite(start) ? buildAxis(start, end, findBusyIntervals(rows)) : buildAxis(0, 0, []),
  };
}

/** The bar that an event belongs to: the one it begins, else the latest that is around it. */
export function findBar(rows: readonly TimelineRow[], seq: number | undefined): Bar | undefined {
  if (seq === undefined) {
    return undefined;
  }
  let best: Bar | undefined;
  for (const row of rows) {
    for (const bar of row.bars) {
      if (bar.seq === seq) {
        return bar;
      }
      if (bar.seq <= seq && seq <= bar.lastSeq && (!best || bar.seq > best.seq)) {
        best = bar;
      }
    }
  }
  return best;
}

/** Work is what a model or a tool does; a tool that waits for a person does nothing meanwhile. */
function findBusyIntervals(rows: readonly TimelineRow[]): Interval[] {
  return rows.flatMap((row) => {
    const waiting = row.bars.filter((bar) => bar.kind === "waiting");
    const working = row.bars.filter((bar) => bar.kind !== "waiting");
    return waiting.length > 0 ? subtractIntervals(working, waiting) : working;
  });
}

interface ClosedSpan {
  span: Span;
  from: number;
  to: number;
  lastSeq: number;
  state: BarState;
}

/** Spans with their ends; one whose call was begun again after a pause was stopped by the pause. */
function closeSpans(view: RunView, now: number): ClosedSpan[] {
  const ended = view.state.completed_at;
  const latest = timeOf(ended ?? view.state.updated_at, now);
  const next = new Map<string, ClosedSpan>();
  const closed: ClosedSpan[] = [];
  for (const span of view.spans.toReversed()) {
    const name = `${span.kind} ${span.call_id ?? ""}`;
    const later = span.call_id ? next.get(name) : undefined;
    const from = timeOf(span.started_at, latest);
    const stopped = span.ended_at === null && later !== undefined;
    const open = ended === null && !stopped ? Math.max(now, latest) : latest;
    const to = timeOf(span.ended_at, stopped ? (later?.from ?? latest) : open);
    const closedSpan: ClosedSpan = {
      span,
      from,
      to: Math.max(from, to),
      lastSeq:
        span.last_seq ?? (stopped ? (later?.span.first_seq ?? span.first_seq) - 1 : view.state.last_seq),
      state: span.ended_at !== null ? endState(span) : stopped || ended !== null ? "stopped" : "running",
    };
    next.set(name, closedSpan);
    closed.push(closedSpan);
  }
  return closed.toReversed();
}

function endState(span: Span): BarState {
  if (span.kind !== "waiting") {
    return span.ok ? "done" : "failed";
  }
  if (span.label === "question") {
    return span.ok ? "answered" : "stopped";
  }
  return span.ok ? "approved" : "denied";
}

function buildRows(view: RunView, spans: readonly ClosedSpan[]): TimelineRow[] {
  const calls = new Map<string, CallItem>();
  for (const item of view.items) {
    if (item.kind === "call") {
      calls.set(item.call_id, item);
    }
  }
  const rows = new Map<string, TimelineRow & { bars: Bar[] }>();
  for (const { span, from, to, lastSeq, state } of spans) {
    const call = span.call_id ? (span.call_id.split("#")[0] ?? "") : "";
    const key = call ? `call ${call}` : span.key;
    const tool = calls.get(call)?.tool;
    const row = rows.get(key) ?? { key, kind: span.kind, label: tool ?? span.label, bars: [] };
    if (span.kind === "tool") {
      row.kind = "tool";
      row.label = span.label;
    }
    row.bars.push({ key: span.key, kind: span.kind, seq: span.first_seq, lastSeq, from, to, state });
    rows.set(key, row);
  }
  return [...rows.values()];
}

function timeOf(time: string | null, fallback: number): number {
  const milliseconds = time ? Date.parse(time) : Number.NaN;
  return Number.isFinite(milliseconds) ? milliseconds : fallback;
}
