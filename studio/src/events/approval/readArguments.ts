/** What was typed as arguments: the value, or why it is none. */
export type ReadArguments =
  | { value: Record<string, unknown>; problem?: undefined }
  | { value?: undefined; problem: Problem };

type Problem =
  | { kind: "object" }
  | { kind: "json"; why: string; at: { line: number; column: number } | null };

/** Reads the arguments of a call; only an object is one. */
export function readArguments(text: string): ReadArguments {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return { problem: { kind: "object" } };
    }
    return { value: value as Record<string, unknown> };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { problem: { kind: "json", why: withoutPlace(why), at: placeIn(why, text) } };
  }
}

/** The arguments as they are edited: readable, always written the same way. */
export function argumentsText(value: Record<string, unknown>): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function withoutPlace(why: string): string {
  return why.replace(/,? ?"?\.\.\..*$/s, "").replace(/ (?:in JSON )?at position \d+.*$/s, "");
}

/** Where a browser says the mistake is; its words differ, so there may be none. */
function placeIn(why: string, text: string): { line: number; column: number } | null {
  const position = /at position (\d+)/.exec(why)?.[1];
  if (position === undefined) {
    return null;
  }
  const before = text.slice(0, Number(position)).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
