import type { LogEvent, TranscriptItem } from "../../../events";

const MAX_CHARACTERS = 200_000;
const texts = new WeakMap<object, string>();

/** Everything an item or an event says, in lower case; made once. */
export function textOf(entry: TranscriptItem | LogEvent): string {
  let text = texts.get(entry);
  if (text === undefined) {
    text = JSON.stringify(entry, omitNoise).slice(0, MAX_CHARACTERS).toLowerCase();
    texts.set(entry, text);
  }
  return text;
}

const NOISE = new Set(["key", "mac", "epoch", "arguments_sha256", "idempotency_key"]);

function omitNoise(name: string, value: unknown): unknown {
  return NOISE.has(name) ? undefined : value;
}

/** Those in which all words occur; none where nothing is searched for. */
export function filterMatches<Entry extends TranscriptItem | LogEvent>(
  entries: readonly Entry[],
  query: string,
): readonly Entry[] {
  const parts = query
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    // Text stands in JSON as it is written there.
    .map((word) => JSON.stringify(word).slice(1, -1));
  return parts.length === 0
    ? []
    : entries.filter((entry) => {
        const text = textOf(entry);
        return parts.every((word) => text.includes(word));
      });
}
