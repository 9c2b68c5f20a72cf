/** A stretch of time in milliseconds. */
export interface Interval {
  from: number;
  to: number;
}

/** A stretch of the axis: real time, and the place it takes; a quiet one is shorter than it was. */
export interface AxisPart extends Interval {
  quiet: boolean;
  at: number;
  length: number;
}

/** An axis on which long quiet times are short; its unit is a millisecond of busy time. */
export interface Axis {
  start: number;
  end: number;
  length: number;
  parts: readonly AxisPart[];
}

/** A labelled place on the axis: time since the start. */
export interface Tick {
  at: number;
  elapsed: number;
}

/** Quiet time below this share of the busy time stays as it was. */
const KEEP_SHARE = 0.08;
/** The share of the busy time that a long quiet time takes. */
const QUIET_SHARE = 0.04;
const SHORTEST_MS = 20;

/** The union of stretches, in order, without those that are no time at all. */
export function mergeIntervals(intervals: readonly Interval[]): Interval[] {
  const ordered = intervals.filter(({ from, to }) => to >= from).toSorted((a, b) => a.from - b.from);
  const merged: Interval[] = [];
  for (const { from, to } of ordered) {
    const last = merged.at(-1);
    if (last && from <= last.to) {
      last.to = Math.max(last.to, to);
    } else {
      merged.push({ from, to });
    }
  }
  return merged;
}

/** What is left of stretches when others are taken away. */
export function subtractIntervals(intervals: readonly Interval[], removed: readonly Interval[]): Interval[] {
  let rest = mergeIntervals(intervals);
  for (const gap of removed) {
    rest = rest.flatMap((interval) => {
      if (gap.to <= interval.from || gap.from >= interval.to) {
        return [interval];
      }
      const parts = [
        { from: interval.from, to: gap.from },
        { from: gap.to, to: interval.to },
      ];
      return parts.filter(({ from, to }) => to > from);
    });
  }
  return rest;
}

/** An axis from start to end on which the time outside of `busy` is collapsed where it is long. */
export function buildAxis(start: number, end: number, busy: readonly Interval[]): Axis {
  const inside = mergeIntervals(
    busy.map(({ from, to }) => ({ from: Math.max(from, start), to: Math.min(to, end) })),
  );
  const work = inside.reduce((sum, { from, to }) => sum + (to - from), 0);
  const basis = Math.max(work, SHORTEST_MS);
  const parts: AxisPart[] = [];
  let at = 0;
  const add = (from: number, to: number, idle: boolean) => {
    if (to <= from) {
      return;
    }
    const quiet = idle && to - from > basis * KEEP_SHARE;
    const length = quiet ? basis * QUIET_SHARE : to - from;
    parts.push({ from, to, quiet, at, length });
    at += length;
  };
  let now = start;
  for (const { from, to } of inside) {
    add(now, from, true);
    add(from, to, false);
    now = Math.max(now, to);
  }
  add(now, end, true);
  return { start, end, length: Math.max(at, 1), parts };
}

/** Where a moment stands on the axis. */
export function positionOf(axis: Axis, moment: number): number {
  const part = partAt(axis, moment);
  if (!part) {
    return moment <= axis.start ? 0 : axis.length;
  }
  return part.at + ((moment - part.from) / (part.to - part.from)) * part.length;
}

function partAt({ parts }: Axis, moment: number): AxisPart | undefined {
  let low = 0;
  let high = parts.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const part = parts[middle] as AxisPart;
    if (moment < part.from) {
      high = middle - 1;
    } else if (moment > part.to) {
      low = middle + 1;
    } else {
      return part;
    }
  }
  return undefined;
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500];
const LONG_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400];

/** A round step so that at most `most` of them fit into a length. */
export function roundStep(length: number, maxCount: number): number {
  const minStep = length / Math.max(1, maxCount);
  const all = [...STEPS, ...LONG_STEPS.map((seconds) => seconds * 1000)];
  return all.find((step) => step >= minStep) ?? Math.ceil(minStep / 86_400_000) * 86_400_000;
}

/** Labelled places between two places of the axis: round times since the start, none inside what is collapsed. */
export function ticksBetween(axis: Axis, first: number, last: number, maxCount: number): Tick[] {
  const step = roundStep(last - first, maxCount);
  const ticks: Tick[] = [];
  let latest = Number.NEGATIVE_INFINITY;
  for (const part of axis.parts) {
    if (part.quiet || part.at > last || part.at + part.length < first) {
      continue;
    }
    const begin = Math.ceil((part.from - axis.start) / step) * step;
    for (let elapsed = begin; elapsed <= part.to - axis.start; elapsed += step) {
      const at = part.at + (elapsed - (part.from - axis.start));
      // What was collapsed may bring two round times close together.
      if (at >= first && at <= last && at - latest >= step * 0.6) {
        ticks.push({ at, elapsed });
        latest = at;
      }
    }
  }
  return ticks;
}
