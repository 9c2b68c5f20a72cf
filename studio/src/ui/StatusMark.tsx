import type { ReactNode } from "react";
import { useWords } from "../i18n";
import { displayText } from "../lib/hiddenCharacters";
import { tableOf } from "../lib/table";
import { Badge, type Tone } from "./Badge";
import {
  DoneIcon,
  EditIcon,
  FailedIcon,
  HandIcon,
  HelpIcon,
  PendingIcon,
  PlayIcon,
  StoppedIcon,
} from "./icons";

type Look = [Tone, ReactNode];

const ICON = "size-3.5 shrink-0";
const RUN = tableOf<Record<string, Look>>({
  pending: ["neutral", <PendingIcon key="icon" className={ICON} />],
  running: ["accent", <PlayIcon key="icon" className={ICON} />],
  waiting_for_tool: ["accent", <PlayIcon key="icon" className={ICON} />],
  waiting_for_user: ["wait", <HandIcon key="icon" className={ICON} />],
  review_required: ["wait", <HandIcon key="icon" className={ICON} />],
  revision_required: ["accent", <EditIcon key="icon" className={ICON} />],
  completed: ["good", <DoneIcon key="icon" className={ICON} />],
  failed: ["bad", <FailedIcon key="icon" className={ICON} />],
  cancelled: ["neutral", <StoppedIcon key="icon" className={ICON} />],
});
const CALL = tableOf<Record<string, Look>>({
  requested: ["neutral", <PendingIcon key="icon" className={ICON} />],
  waiting: ["wait", <HandIcon key="icon" className={ICON} />],
  denied: ["bad", <StoppedIcon key="icon" className={ICON} />],
  running: ["accent", <PlayIcon key="icon" className={ICON} />],
  ok: ["good", <DoneIcon key="icon" className={ICON} />],
  failed: ["bad", <FailedIcon key="icon" className={ICON} />],
  abandoned: ["neutral", <StoppedIcon key="icon" className={ICON} />],
});
const UNKNOWN: Look = ["neutral", <HelpIcon key="icon" className={ICON} />];

/** The state of a run or of a call: icon, word and colour; an unknown state is shown as it is. */
export function StatusMark({ of = "run", state }: { of?: "run" | "call"; state: string }) {
  const words = useWords("states");
  const [tone, icon] = (of === "run" ? RUN : CALL)[state] ?? UNKNOWN;
  return (
    <Badge tone={tone} icon={icon}>
      {words[of][state] ?? displayText(state)}
    </Badge>
  );
}
