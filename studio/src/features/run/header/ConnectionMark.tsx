import type { Connection } from "../../../api/sse";
import { useWords } from "../../../i18n";
import { Badge, type Tone } from "../../../ui/Badge";
import { CheckIcon, PlayIcon, RetryIcon, WarnIcon } from "../../../ui/icons";

const ICON = "size-3.5 shrink-0";

/** How the connection to the log stands; said aloud when it changes. */
export function ConnectionMark({ connection }: { connection: Connection }) {
  const words = useWords("states").connection;
  const looks: Record<Connection, [Tone, React.ReactNode]> = {
    idle: ["neutral", <RetryIcon key="icon" className={ICON} />],
    connecting: ["neutral", <RetryIcon key="icon" className={ICON} />],
    live: ["good", <PlayIcon key="icon" className={ICON} />],
    waiting: ["wait", <RetryIcon key="icon" className={ICON} />],
    ended: ["neutral", <CheckIcon key="icon" className={ICON} />],
    failed: ["bad", <WarnIcon key="icon" className={ICON} />],
  };
  const [tone, icon] = looks[connection];
  return (
    <span role="status" className="inline-flex">
      <Badge tone={tone} icon={icon}>
        {words[connection]}
      </Badge>
    </span>
  );
}
