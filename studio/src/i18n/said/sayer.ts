import type { Say } from "./say";

const LONGEST = 2000;
const DEEPEST = 3;
const MOST_KEPT = 2000;
const MOST_PARTS = 20;
const HOLE = "{}";
/** How long a pattern must be to count where its holes hold sentences: `the host {}` fits too much. */
const TELLING = 14;
/** What may stand between sentences: how to cut there, how a part that only follows others begins, what joins Chinese. */
const JOINTS: readonly [cut: string | RegExp, lead: string, join: string][] = [
  ["\n", "", "\n"],
  ["; ", "; ", "；"],
  [/(?<=\.) /, " ", ""],
  [": ", "", "："],
  [" · ", "", " · "],
];
const PROSE = /[a-z]{2} [a-z]{2}/i;

interface Pattern {
  pieces: readonly string[];
  saying: string;
}

/** Makes a sayer of sentences and their translations; `{}` in both stands for what is different each time. */
export function sayerOf(sentences: readonly string[], sayings: readonly string[]): Say {
  const whole = new Map<string, string>();
  const patterns: Pattern[] = [];
  for (const [index, sentence] of sentences.entries()) {
    const saying = sayings[index] ?? sentence;
    if (sentence.includes(HOLE)) {
      patterns.push({ pieces: sentence.split(HOLE), saying });
    } else {
      whole.set(sentence, saying);
    }
  }
  // The pattern that says most is tried first: `no run {}` before `no {}`.
  patterns.sort((left, right) => weight(right) - weight(left));
  const kept = new Map<string, string>();
  const say = (sentence: string, depth: number): string => {
    const known = whole.get(sentence) ?? kept.get(sentence);
    if (known !== undefined || depth > DEEPEST || !sentence.includes(" ") || sentence.length > LONGEST) {
      return known ?? sentence;
    }
    const again: Say = (part) => say(part, depth + 1);
    const filled = byPattern(sentence, patterns, again);
    const found = filled?.whole
      ? filled.text
      : (byName(sentence, again) ?? byParts(sentence, again) ?? filled?.text ?? sentence);
    if (depth === 0 && kept.size < MOST_KEPT) {
      kept.set(sentence, found);
    }
    return found;
  };
  return (sentence) => say(sentence, 0);
}

function weight(pattern: Pattern): number {
  return pattern.pieces.reduce((sum, piece) => sum + piece.length, 0);
}

/** What the first pattern that fits says, and whether nothing in its holes reads like a sentence nobody knows. */
function byPattern(
  sentence: string,
  patterns: readonly Pattern[],
  again: Say,
): { text: string; whole: boolean } | undefined {
  for (const { pieces, saying } of patterns) {
    const given = holesOf(sentence, pieces);
    if (given) {
      const said = given.map(again);
      const whole = !said.some((part, index) => part === given[index] && PROSE.test(part));
      if (whole || pieces.join("").length >= TELLING) {
        return { text: withHoles(saying, said), whole };
      }
    }
  }
  return undefined;
}

/** What stands in the holes; nothing where the sentence is another one. One pass, whatever the text. */
function holesOf(sentence: string, pieces: readonly string[]): string[] | undefined {
  const [first = "", ...others] = pieces;
  const last = others.pop() ?? "";
  const end = sentence.length - last.length;
  if (!sentence.startsWith(first) || !sentence.endsWith(last) || end < first.length) {
    return undefined;
  }
  const found: string[] = [];
  let at = first.length;
  for (const piece of others) {
    const next = sentence.indexOf(piece, at);
    if (next < 0 || next + piece.length > end) {
      return undefined;
    }
    found.push(sentence.slice(at, next));
    at = next + piece.length;
  }
  return [...found, sentence.slice(at, end)];
}

/** `{}` is the next hole, `{2}` the second one. */
function withHoles(saying: string, given: readonly string[]): string {
  let next = 0;
  return saying.replace(
    /\{(\d*)\}/g,
    (_, number: string) => given[number ? Number(number) - 1 : next++] ?? "",
  );
}

/** A name, and what is said of it: `` `a.txt` is missing `` or `disk: the policy sets no limit`. */
function byName(sentence: string, again: Say): string | undefined {
  const [, name = "", rest = ""] = /^(`[^`]*` |[\w./-]+: )(.+)$/s.exec(sentence) ?? [];
  const said = again(rest);
  return said === rest ? undefined : `${name.replace(": ", "：")}${said}`;
}

/** Several sentences in one text, when each of them is known. */
function byParts(text: string, again: Say): string | undefined {
  for (const [cut, lead, join] of JOINTS) {
    const parts = text.split(cut);
    if (parts.length < 2 || parts.length > MOST_PARTS) {
      continue;
    }
    const said = parts.map(
      (part, index) => (index > 0 && lead && following(lead, part, again)) || again(part),
    );
    const left = parts.filter((part, index) => part === said[index]);
    if (left.length < parts.length && !left.some((part) => PROSE.test(part))) {
      return said.join(join);
    }
  }
  return undefined;
}

/** A part that is said only behind others, such as `; did you mean that?`. */
function following(lead: string, part: string, again: Say): string | undefined {
  const said = again(lead + part);
  return said === lead + part ? undefined : said.replace(/^[；\s]+/, "");
}
