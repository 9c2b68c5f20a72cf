import { diffWordsWithSpace } from "diff";
import type { DiffGap, DiffLine, FileDiff } from "./model";

/** A piece of a line; changed pieces are highlighted. */
export interface Piece {
  text: string;
  isChanged: boolean;
}

/** Two lines side by side; one of them may be missing. */
export interface Pair {
  kind: "pair";
  old: DiffLine | null;
  new: DiffLine | null;
}

/** Unchanged lines that are folded away, and can be shown. */
export interface FoldedLines {
  kind: "folded";
  key: string;
  pairs: readonly Pair[];
}

/** One row of the table of a file. */
export type DiffRow = Pair | FoldedLines | DiffGap;

const CONTEXT_LINES = 3;
const MIN_FOLDED_LINES = 4;
const LONG_LINE = 1_500;

/** The rows of a file: changed lines side by side, long unchanged stretches folded. */
export function rowsOf(file: FileDiff, ignoreWhitespace: boolean): DiffRow[] {
  return fold(pairs(file.lines, ignoreWhitespace));
}

function pairs(lines: FileDiff["lines"], ignoreWhitespace: boolean): (Pair | DiffGap)[] {
  const rows: (Pair | DiffGap)[] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const flush = () => {
    for (let index = 0; index < Math.max(removed.length, added.length); index += 1) {
      rows.push(pairOf(removed[index] ?? null, added[index] ?? null, ignoreWhitespace));
    }
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === "removed") {
      if (added.length > 0) {
        flush();
      }
      removed.push(line);
    } else if (line.kind === "added") {
      added.push(line);
    } else {
      flush();
      rows.push(line.kind === "gap" ? line : { kind: "pair", old: line, new: line });
    }
  }
  flush();
  return rows;
}

/** Lines that differ in whitespace only are unchanged to who does not care about it. */
function pairOf(before: DiffLine | null, after: DiffLine | null, ignoreWhitespace: boolean): Pair {
  if (ignoreWhitespace && before && after && bare(before.text) === bare(after.text)) {
    const line: DiffLine = { kind: "context", text: after.text, old: before.old, new: after.new };
    return { kind: "pair", old: line, new: line };
  }
  return { kind: "pair", old: before, new: after };
}

function bare(text: string): string {
  return text.replace(/\s+/g, "");
}

/** Whether nothing differs in a pair. */
export function isContext(pair: Pair): boolean {
  return pair.old?.kind === "context";
}

function fold(rows: readonly (Pair | DiffGap)[]): DiffRow[] {
  const folded: DiffRow[] = [];
  let from = 0;
  while (from < rows.length) {
    const row = rows[from];
    if (row?.kind !== "pair" || !isContext(row)) {
      folded.push(row as Pair | DiffGap);
      from += 1;
      continue;
    }
    let to = from;
    while (to < rows.length && rows[to]?.kind === "pair" && isContext(rows[to] as Pair)) {
      to += 1;
    }
    folded.push(...foldContext(rows.slice(from, to) as Pair[], from === 0, to === rows.length));
    from = to;
  }
  return folded;
}

/** Keeps some lines around what changed, and folds the rest when it is worth it. */
function foldContext(pairs: readonly Pair[], first: boolean, last: boolean): DiffRow[] {
  const head = first ? 0 : CONTEXT_LINES;
  const tail = last ? 0 : CONTEXT_LINES;
  if (pairs.length - head - tail < MIN_FOLDED_LINES) {
    return [...pairs];
  }
  const hidden = pairs.slice(head, pairs.length - tail);
  const begin = hidden[0]?.new;
  return [
    ...pairs.slice(0, head),
    { kind: "folded", key: `${begin?.old ?? ""}-${begin?.new ?? ""}-${begin?.text ?? ""}`, pairs: hidden },
    ...pairs.slice(pairs.length - tail),
  ];
}

/** Both lines of a pair in pieces, with changed words marked. */
export function piecesOf(pair: Pair): { old: Piece[]; new: Piece[] } {
  const before = pair.old?.text ?? "";
  const after = pair.new?.text ?? "";
  const plain = { old: [{ text: before, isChanged: false }], new: [{ text: after, isChanged: false }] };
  if (isContext(pair) || !pair.old || !pair.new || before.length + after.length > LONG_LINE) {
    return plain;
  }
  const parts = diffWordsWithSpace(before, after);
  const same = parts.reduce(
    (sum, part) => sum + (part.added || part.removed ? 0 : part.value.trim().length),
    0,
  );
  if (same === 0) {
    return plain;
  }
  return {
    old: parts
      .filter((part) => !part.added)
      .map((part) => ({ text: part.value, isChanged: Boolean(part.removed) })),
    new: parts
      .filter((part) => !part.removed)
      .map((part) => ({ text: part.value, isChanged: Boolean(part.added) })),
  };
}
