import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { tableOf } from "../../lib/table";
import { Badge, type Tone } from "../../ui/Badge";
import { FailedIcon, InfoIcon, WarnIcon } from "../../ui/icons";

const TONES = tableOf<Record<string, Tone>>({
  critical: "bad",
  error: "bad",
  high: "bad",
  malicious: "bad",
  medium: "wait",
  warning: "wait",
  suspicious: "wait",
  clean: "good",
});

/** How grave a finding is: a word, a shape and a colour. */
export function SeverityMark({ severity }: { severity: string }) {
  const words = useWords("skills");
  const tone = TONES[severity] ?? "neutral";
  const Icon = tone === "bad" ? FailedIcon : tone === "wait" ? WarnIcon : InfoIcon;
  return (
    <Badge tone={tone} icon={<Icon className="size-3.5" />}>
      {words.severities[severity] ?? displayText(severity)}
    </Badge>
  );
}
