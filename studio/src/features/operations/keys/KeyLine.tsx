import type { ApiKey } from "../../../api/keys";
import { useFormat, useWords } from "../../../i18n";
import { useNow } from "../../../lib/clock";
import { displayText } from "../../../lib/hiddenCharacters";
import { Badge } from "../../../ui/Badge";
import { Button } from "../../../ui/Button";
import { StoppedIcon } from "../../../ui/icons";

/** One key: its name, what it is good for, when it was used. */
export function KeyLine({ apiKey, onRevoke }: { apiKey: ApiKey; onRevoke: () => void }) {
  const words = useWords("operations").keys;
  const name = displayText(apiKey.name);
  return (
    <li className="grid min-w-0 grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-1.5 px-3 py-2.5 lg:grid-cols-[minmax(0,2fr)_minmax(0,3fr)_minmax(0,2fr)_auto]">
      <div className="min-w-0">
        <p className="font-medium [overflow-wrap:anywhere]">{name}</p>
        <p className="font-mono text-xs text-soft">{displayText(apiKey.id)}</p>
      </div>
      <div className="order-last col-span-2 flex flex-wrap gap-1 lg:order-none lg:col-span-1">
        {apiKey.scopes.map((scope) => (
          <Badge key={scope} tone={scope === "admin" ? "wait" : "neutral"}>
            {displayText(scope)}
          </Badge>
        ))}
      </div>
      <div className="order-last col-span-2 flex min-w-0 flex-col text-xs text-soft lg:order-none lg:col-span-1">
        <TimeText label={words.created} time={apiKey.created_at} />
        <TimeText label={words.used} time={apiKey.last_used_at} />
      </div>
      {apiKey.revoked_at ? (
        <Badge tone="bad" icon={<StoppedIcon />}>
          <TimeText label={words.revoked} time={apiKey.revoked_at} />
        </Badge>
      ) : (
        <Button small tone="danger" aria-label={words.revokeOne(name)} onClick={onRevoke}>
          {words.revoke}
        </Button>
      )}
    </li>
  );
}

function TimeText({ label, time }: { label: (time: string) => string; time: string | null }) {
  const words = useWords("operations").keys;
  const format = useFormat();
  const now = useNow();
  return time ? (
    <time dateTime={time} title={format.date(time)}>
      {label(format.relative(time, now))}
    </time>
  ) : (
    <span>{words.neverUsed}</span>
  );
}
