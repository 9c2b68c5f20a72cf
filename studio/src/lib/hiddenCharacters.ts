// Text that programs wrote may steer terminals and hide its real order; here it becomes plain, visible text.

const ESCAPE = "\u001b";
const SEQUENCES = new RegExp(
  `${ESCAPE}(?:\\[[0-?]*[ -/]*[@-~]|\\][^\\u0007${ESCAPE}]*(?:\\u0007|${ESCAPE}\\\\)?|[PX^_][^${ESCAPE}]*(?:${ESCAPE}\\\\)?|[ -/]*[0-~])`,
  "g",
);
// As `readable` of the runtime: what joins pictures or letters stays between them, everything else is shown.
const PICTURE = "[\\p{Extended_Pictographic}\\p{Emoji_Modifier}]";
const JOINING =
  "[\\u0620-\\u065f\\u066e-\\u06d3\\u06d5-\\u06dc\\u06df-\\u06ff\\u0750-\\u077f\\u08a0-\\u08e1\\u0900-\\u0dff\\u1000-\\u109f\\u1780-\\u17b3\\u17b6-\\u17dd\\u1820-\\u18aa]";
const HIDDEN = new RegExp(
  `(?<kept>(?<=${PICTURE}\\ufe0f?)\\u200d(?=${PICTURE})|(?<=${JOINING})[\\u200c\\u200d](?=${JOINING})|(?<=${PICTURE})[\\ufe0e\\ufe0f]|\\ufe0f(?=\\u20e3))` +
    "|(?![\\t\\n\\r])[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2800\\u3164\\uffa0\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}]",
  "gu",
);

/** The text without what steers a terminal; lines that were drawn over keep their last state. */
export function stripEscapes(text: string): string {
  const plain = text.includes(ESCAPE) ? text.replace(SEQUENCES, "") : text;
  return plain.includes("\r") ? plain.split("\n").map(lastState).join("\n") : plain;
}

/** What is left of a line after all that returned to its start. */
function lastState(line: string): string {
  const written = line.replace(/\r+$/, "");
  return written.slice(written.lastIndexOf("\r") + 1);
}

/** The text with every invisible or order-changing character written out, such as `‹U+202E›`. */
export function revealHidden(text: string): string {
  return text.replace(HIDDEN, (char: string, lineBreak?: string) =>
    lineBreak === undefined
      ? `‹U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`
      : char,
  );
}

/** Text of a program as it may be shown: harmless and complete. */
export function displayText(text: string): string {
  return revealHidden(stripEscapes(text));
}
