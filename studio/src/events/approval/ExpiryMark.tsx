import { millisecondsOf, useFormat, useWords } from "../../i18n";
import { useNow } from "../../lib/clock";
import { Badge } from "../../ui/Badge";
import { ClockIcon } from "../../ui/icons";

const SOON_MS = 5 * 60_000;

/** How long a decision is still possible; it counts down. */
export function ExpiryMark({ at }: { at: string }) {
  const words = useWords("approvals");
  const format = useFormat();
  const remainingMs = millisecondsOf(at) - useNow();
  if (!Number.isFinite(remainingMs)) {
    return null;
  }
  const displayedMs = Math.max(0, Math.floor(remainingMs / 1000) * 1000);
  return (
    <Badge
      tone={remainingMs < SOON_MS ? "bad" : "neutral"}
      icon={<ClockIcon className="size-3.5 shrink-0" />}
    >
      <time dateTime={at} title={format.date(at)}>
        {remainingMs <= 0 ? words.expired : words.expiresIn(format.duration(displayedMs))}
      </time>
    </Badge>
  );
}
