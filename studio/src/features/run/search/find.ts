import type { LogEvent, TranscriptItem } from "../../../events";

const LONGEST = 200_000;
const texts = new WeakMap<object, string>();

/** Everything an item or an event says, in lower case; made once. */
export function textOf(thing: TranscriptItem | LogEvent): string {
  let text = texts.get(thing);
  if (text === undefined) {
    text = JSON.stringify(thing, withoutNoise).slice(0, LONGEST).toLowerCase();
    texts.set(thing, text);
  }
  return text;
}

const NOISE = new Set(["key", "mac", "epoch", "arguments_sha256", "idempotency_key"]);

function withoutNoise(name: string, value: unknown): unknown {
  return NOISE.has(name) ? undefined : value;
}

/** Those in which all words occur; none where nothing is searched for. */
export function matching<Thing extends TranscriptItem | LogEvent>(
  things: readonly Thing[],
  wanted: string,
): readonly Thing[] {
  const parts = wanted
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    // Text stands in JSON as it is written there.
    .map((word) => JSON.stringify(word).slice(1, -1));
  return parts.length === 0
    ? []
    : things.filter((thing) => {
        const text = textOf(thing);
        return parts.every((word) => text.includes(word));
      });
}
