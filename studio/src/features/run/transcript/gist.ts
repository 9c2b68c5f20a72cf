import type { Data } from "../../../events";

const TELLING = [
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
const LONGEST = 240;
const sizes = new WeakMap<object, number>();

/** The argument that tells most about a call, in one line. */
export function gist(given: Data): string {
  for (const name of [...TELLING, ...Object.keys(given)]) {
    const value = given[name];
    const text =
      Array.isArray(value) && value.every((item) => typeof item === "string") ? value.join(" ") : value;
    if (typeof text === "string" && text.trim() !== "") {
      return text.slice(0, LONGEST).replace(/\s+/g, " ").trim();
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
