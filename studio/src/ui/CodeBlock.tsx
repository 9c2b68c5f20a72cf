import { useMemo, useState } from "react";
import { useFormat, useWords } from "../i18n";
import { classes } from "../lib/classes";
import { displayText } from "../lib/hiddenCharacters";
import { Button } from "./Button";
import { CopyButton } from "./CopyButton";
import { MAX_CHARACTERS } from "./PlainText";

const FIRST_LINES = 40;

/** Text of a program or a file, only as text: escapes are taken out, hidden characters are shown. */
export function CodeBlock({
  text,
  label,
  lines = FIRST_LINES,
  copy = true,
}: {
  text: string;
  /** What it is, for who listens. */
  label: string;
  /** How many lines are shown at first. */
  lines?: number;
  copy?: boolean;
}) {
  const words = useWords("ui");
  const format = useFormat();
  const [all, setAll] = useState(false);
  const cut = text.length > MAX_CHARACTERS;
  const fullText = useMemo(() => displayText(cut ? text.slice(0, MAX_CHARACTERS) : text), [text, cut]);
  const count = useMemo(() => countLines(fullText), [fullText]);
  const visibleText = all || count <= lines ? fullText : firstLines(fullText, lines);
  return (
    <div className="group relative min-w-0">
      <section
        aria-label={label}
        // What scrolls must be reachable by keyboard.
        tabIndex={0}
        className={classes("max-h-[32rem] overflow-auto rounded-md bg-sunken px-3 py-2", copy && "pr-10")}
      >
        <pre className="font-mono text-xs break-words whitespace-pre-wrap [overflow-wrap:anywhere]" dir="ltr">
          {visibleText}
        </pre>
      </section>
      {copy ? (
        <span className="absolute top-1 right-1">
          <CopyButton text={text} />
        </span>
      ) : null}
      {count > lines ? (
        <Button small tone="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? words.showLess : words.showAll(count)}
        </Button>
      ) : null}
      {cut ? (
        <p className="text-xs text-soft">
          {words.cut(format.short(MAX_CHARACTERS), format.short(text.length))}
        </p>
      ) : null}
    </div>
  );
}

function countLines(text: string): number {
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    count += 1;
  }
  return count;
}

function firstLines(text: string, count: number): string {
  let at = -1;
  for (let line = 0; line < count; line += 1) {
    at = text.indexOf("\n", at + 1);
  }
  return text.slice(0, at);
}
