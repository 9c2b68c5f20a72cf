import { useLanguage, useSaid } from "../i18n";
import { classes } from "../lib/classes";
import { shownText } from "../lib/hidden";

/** A sentence of the service in the language in use; its original is the title, and English that stays is marked. */
export function ServerText({ text, className }: { text: string; className?: string }) {
  const said = useSaid();
  const language = useLanguage();
  const shown = said(text);
  const foreign = language !== "en" && shown === text && /[a-z]{2} [a-z]{2}/i.test(text);
  return (
    <span
      lang={foreign ? "en" : undefined}
      title={shown === text ? undefined : shownText(text)}
      className={classes("[overflow-wrap:anywhere]", className)}
    >
      {shownText(shown)}
    </span>
  );
}
