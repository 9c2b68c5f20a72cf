import type { Action, ComparedRow } from "../../api/comparison";

/** The text of a move as people read it: what is only a quoted text loses its quotes, data stands on several lines. */
export function formatAction({ kind, what }: Action): string {
  if (kind === "call") {
    const space = what.indexOf(" ");
    return space < 0 ? what : `${what.slice(0, space)}\n${decodeEscapes(what.slice(space + 1))}`;
  }
  return decodeEscapes(what);
}

function decodeEscapes(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : JSON.stringify(value, null, 2);
  } catch {
    return text;
  }
}

/** Where two runs first differ; -1 where they never do. */
export function firstDifference(rows: readonly ComparedRow[]): number {
  return rows.findIndex((row) => row.op !== "equal");
}

/** Moves that stand beside each other; the shorter side ends with nothing. */
export function pairActions(row: ComparedRow): [Action | undefined, Action | undefined][] {
  const length = Math.max(row.a.length, row.b.length);
  return Array.from({ length }, (_, index) => [row.a[index], row.b[index]]);
}
