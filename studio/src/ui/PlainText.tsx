import { useMemo } from "react";
import { useFormat, useWords } from "../i18n";
import { classes } from "../lib/classes";
import { displayText } from "../lib/hiddenCharacters";

/** How much of one text a page shows: a browser takes seconds to lay out more. */
export const MAX_CHARACTERS = 200_000;

/** Untrusted running text, rendered as text: line breaks stay, hidden characters are made visible. */
export function PlainText({ text, className }: { text: string; className?: string }) {
  const words = useWords("ui");
  const format = useFormat();
  const cut = text.length > MAX_CHARACTERS;
  const visibleText = useMemo(() => displayText(cut ? text.slice(0, MAX_CHARACTERS) : text), [text, cut]);
  return (
    <>
      <div dir="auto" className={classes("whitespace-pre-wrap [overflow-wrap:anywhere]", className)}>
        {visibleText}
      </div>
      {cut ? (
        <p className="text-xs text-soft">
          {words.cut(format.short(MAX_CHARACTERS), format.short(text.length))}
        </p>
      ) : null}
    </>
  );
}
