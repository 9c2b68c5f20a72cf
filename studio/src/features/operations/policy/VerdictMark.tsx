import { useWords } from "../../../i18n";
import { classes } from "../../../lib/classes";
import { displayText } from "../../../lib/hiddenCharacters";
import { tableOf } from "../../../lib/table";
import { DoneIcon, FailedIcon, HandIcon } from "../../../ui/icons";

const STYLES = tableOf<Record<string, { text: string; icon: typeof DoneIcon }>>({
  allow: { text: "text-good", icon: DoneIcon },
  ask: { text: "text-wait", icon: HandIcon },
  deny: { text: "text-bad", icon: FailedIcon },
});

/** A decision as a sign and a word, or as a sentence. */
export function VerdictMark({ verdict, long }: { verdict: string; long?: boolean }) {
  const words = useWords("operations").policy;
  const look = STYLES[verdict];
  const Icon = look?.icon ?? HandIcon;
  const label = long ? words.verdicts[verdict] : words.verdictWords[verdict];
  return (
    <span className={classes("inline-flex items-center gap-1.5 font-medium", look?.text)}>
      <Icon className="size-4 shrink-0" />
      {label ?? displayText(verdict)}
    </span>
  );
}
