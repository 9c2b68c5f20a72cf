import type { ReactNode } from "react";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { tableOf } from "../../../lib/table";
import { Badge, type Tone } from "../../../ui/Badge";
import { ClockIcon, DoneIcon, FailedIcon, PlayIcon, StoppedIcon } from "../../../ui/icons";

const ICON = "size-3.5 shrink-0";
const LOOKS = tableOf<Record<string, [Tone, ReactNode]>>({
  running: ["accent", <PlayIcon key="icon" className={ICON} />],
  completed: ["good", <DoneIcon key="icon" className={ICON} />],
  failed: ["bad", <FailedIcon key="icon" className={ICON} />],
  timed_out: ["bad", <ClockIcon key="icon" className={ICON} />],
  cancelled: ["neutral", <StoppedIcon key="icon" className={ICON} />],
});

/** The state of an execution: icon, word and colour. */
export function ExecutionMark({ status }: { status: string }) {
  const words = useWords("execute");
  const [tone, icon] = LOOKS[status] ?? ["neutral", null];
  return (
    <Badge tone={tone} icon={icon}>
      {words.states[status] ?? displayText(status)}
    </Badge>
  );
}
