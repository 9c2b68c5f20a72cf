import type { Data } from "../../../events";

const PREFERRED_ARGUMENTS = [
  "command",
  "cmd",
  "argv",
  "path",
  "file_path",
  "pattern",
  "query",
  "url",
  "question",
  "message",
  "name",
];
const MAX_LENGTH = 240;
const sizes = new WeakMap<object, number>();

/** The argument that tells most about a call, in one line. */
export function summarizeArguments(values: Data): string {
  for (const name of [...PREFERRED_ARGUMENTS, ...Object.keys(values)]) {
    const value = values[name];
    const text =
      Array.isArray(value) && value.every((item) => typeof item === "string") ? value.join(" ") : value;
    if (typeof text === "string" && text.trim() !== "") {
      return text.slice(0, MAX_LENGTH).replace(/\s+/g, " ").trim();
    }
  }
  return "";
}

/** How many bytes data has as JSON; computed once. */
export function sizeOf(value: object): number {
  let size = sizes.get(value);
  if (size === undefined) {
    size = new TextEncoder().encode(JSON.stringify(value)).length;
    sizes.set(value, size);
  }
  return size;
}
