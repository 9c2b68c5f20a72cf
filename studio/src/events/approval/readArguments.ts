/** What was typed as arguments: the value, or why it is none and where that begins. */
export type ReadArguments =
  | { value: Record<string, unknown>; problem?: undefined }
  | { value?: undefined; problem: { kind: "object" } | { kind: "json"; line: number; column: number } };

/** Reads the arguments of a call; only an object is one. */
export function readArguments(text: string): ReadArguments {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return { problem: { kind: "object" } };
    }
    return { value: value as Record<string, unknown> };
  } catch {
    const before = text.slice(0, findSyntaxError(text)).split("\n");
    return { problem: { kind: "json", line: before.length, column: (before.at(-1)?.length ?? 0) + 1 } };
  }
}

/** The arguments as they are edited: readable, always written the same way. */
export function argumentsText(value: Record<string, unknown>): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

const SPACE = /[ \t\r\n]*/y;
const TEXT = /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const PLAIN = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

class JsonSyntaxError extends Error {}

/** Where text stops to be JSON; browsers do not always say. */
function findSyntaxError(text: string): number {
  let at = 0;
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    at += match?.[0].length ?? 0;
    return match !== null;
  };
  const next = (sign: string): boolean => {
    skip(SPACE);
    if (text[at] !== sign) {
      return false;
    }
    at += 1;
    return true;
  };
  const need = (condition: boolean) => {
    if (!condition) {
      throw new JsonSyntaxError();
    }
  };
  const entries = (end: string, entry: () => void) => {
    if (next(end)) {
      return;
    }
    do {
      entry();
    } while (next(","));
    need(next(end));
  };
  const value = () => {
    if (next("{")) {
      entries("}", () => {
        skip(SPACE);
        need(skip(TEXT));
        need(next(":"));
        value();
      });
    } else if (next("[")) {
      entries("]", value);
    } else {
      skip(SPACE);
      need(skip(TEXT) || skip(PLAIN));
    }
  };
  try {
    value();
    skip(SPACE);
  } catch {
    // The place is what is wanted, also where the nesting is too deep to read.
  }
  return at;
}
