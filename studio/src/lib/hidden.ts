// Text that programs wrote may steer terminals and hide its real order; here it becomes plain, visible text.

const ESCAPE = "\u001b";
const SEQUENCES = new RegExp(
  `${ESCAPE}(?:\\[[0-?]*[ -/]*[@-~]|\\][^\\u0007${ESCAPE}]*(?:\\u0007|${ESCAPE}\\\\)?|[PX^_][^${ESCAPE}]*(?:${ESCAPE}\\\\)?|[ -/]*[0-~])`,
  "g",
);
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** The text without what steers a terminal; lines that were drawn over keep their last state. */
export function withoutEscapes(text: string): string {
  const plain = text.includes(ESCAPE) ? text.replace(SEQUENCES, "") : text;
  return plain.includes("\r") ? plain.split("\n").map(lastState).join("\n") : plain;
}

/** What is left of a line after all that returned to its start. */
function lastState(line: string): string {
  const written = line.replace(/\r+$/, "");
  return written.slice(written.lastIndexOf("\r") + 1);
}

/** The text with every invisible or order-changing character written out, such as `‹U+202E›`. */
export function withHiddenShown(text: string): string {
  return text.replace(
    HIDDEN,
    (char) => `‹U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`,
  );
}

/** Text of a program as it may be shown: harmless and complete. */
export function shownText(text: string): string {
  return withHiddenShown(withoutEscapes(text));
}
