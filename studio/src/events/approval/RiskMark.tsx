import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { tableOf } from "../../lib/table";
import { Badge, type Tone } from "../../ui/Badge";
import { HelpIcon, InfoIcon, WarnIcon } from "../../ui/icons";

const ICON = "size-3.5 shrink-0";
const STYLES = tableOf<Record<string, [Tone, typeof WarnIcon]>>({
  low: ["neutral", InfoIcon],
  medium: ["wait", WarnIcon],
  high: ["bad", WarnIcon],
});

/** How risky a call is: a word and an icon, coloured; an unknown level is shown as it is. */
export function RiskMark({ level }: { level: string | undefined }) {
  const words = useWords("approvals");
  if (!level) {
    return null;
  }
  const [tone, Icon] = STYLES[level] ?? ["wait", HelpIcon];
  return (
    <Badge tone={tone} icon={<Icon className={ICON} />}>
      {words.risks[level] ?? `${words.risk}: ${displayText(level)}`}
    </Badge>
  );
}
