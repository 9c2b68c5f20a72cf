import { useMemo } from "react";
import { classes } from "../lib/classes";
import { shownText } from "../lib/hidden";

/** Running text that somebody else wrote, as text: line breaks stay, hidden characters are shown. */
export function PlainText({ text, className }: { text: string; className?: string }) {
  const shown = useMemo(() => shownText(text), [text]);
  return (
    <div dir="auto" className={classes("whitespace-pre-wrap [overflow-wrap:anywhere]", className)}>
      {shown}
    </div>
  );
}
