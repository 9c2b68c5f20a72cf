import { useLanguage } from "../i18n";
import { classes } from "../lib/classes";
import { displayText } from "../lib/hiddenCharacters";

/** A sentence of the server as it comes; marked as English where the page is not. */
export function ServerText({ text, className }: { text: string; className?: string }) {
  const foreign = useLanguage() !== "en" && /[a-z]{2} [a-z]{2}/i.test(text);
  return (
    <span lang={foreign ? "en" : undefined} className={classes("[overflow-wrap:anywhere]", className)}>
      {displayText(text)}
    </span>
  );
}
