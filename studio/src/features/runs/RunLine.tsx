import { memo } from "react";
import { Link } from "wouter";
import { FINAL_STATUSES, type RunRow } from "../../api/runs";
import { useFormat, useWords } from "../../i18n";
import { useNow } from "../../lib/clock";
import { displayText } from "../../lib/hiddenCharacters";
import { Badge } from "../../ui/Badge";
import { HandIcon } from "../../ui/icons";
import { ServerText } from "../../ui/ServerText";
import { StatusMark } from "../../ui/StatusMark";
import { Cell, Row } from "../../ui/Table";

const WIDE = "hidden lg:table-cell";
const MIDDLE = "hidden md:table-cell";
const MAX_TITLE = 300;

/** One run of the list; a pending request for the user takes precedence in the status. */
export const RunLine = memo(function RunLine({ row }: { row: RunRow }) {
  const words = useWords("runs");
  const format = useFormat();
  const status = statusOf(row);
  const tokens = row.input_tokens + row.output_tokens;
  // A mention names where the skill is from as well; the whole of it is the title.
  const skills = row.skills.map((name) => name.slice(name.lastIndexOf(".") + 1)).join(" ");
  return (
    <Row className="focus-within:bg-accent-soft">
      <Cell className="hidden whitespace-nowrap sm:table-cell">
        <StatusMark state={status} />
      </Cell>
      <Cell className="max-w-0 min-w-40">
        <div className="mb-1 sm:hidden">
          <StatusMark state={status} />
        </div>
        <Link
          href={`/runs/${encodeURIComponent(row.run_id)}`}
          data-run={row.run_id}
          className="block font-medium text-text no-underline hover:underline sm:truncate max-sm:line-clamp-2"
        >
          <bdi>{displayText(row.title.slice(0, MAX_TITLE)) || words.untitled}</bdi>
        </Link>
        <RunBadges row={row} />
        {row.failure_reason ? (
          <p className="truncate text-xs text-bad">
            <ServerText text={row.failure_reason.slice(0, MAX_TITLE)} />
          </p>
        ) : null}
        <p className="text-xs text-soft md:hidden">
          <StartTime at={row.started_at ?? row.created_at} /> · <Duration row={row} /> ·{" "}
          {format.short(tokens)} {words.tokens} · {format.money(row.cost_usd)}
        </p>
        <p className="truncate text-xs text-soft lg:hidden">
          <bdi>{displayText([row.model, skills].filter(Boolean).join(" · "))}</bdi>
        </p>
      </Cell>
      <Cell className={`${WIDE} max-w-48 truncate`}>
        <bdi title={displayText(row.skills.join(" "))}>{displayText(skills)}</bdi>
      </Cell>
      <Cell className={`${WIDE} max-w-48 truncate`}>
        <bdi title={displayText(row.model)}>{displayText(row.model)}</bdi>
      </Cell>
      <Cell className={`${MIDDLE} whitespace-nowrap text-soft`}>
        <StartTime at={row.started_at ?? row.created_at} />
      </Cell>
      <Cell figure className={MIDDLE}>
        <Duration row={row} />
      </Cell>
      <Cell figure className={MIDDLE}>
        {format.short(tokens)}
      </Cell>
      <Cell figure className={MIDDLE}>
        {format.money(row.cost_usd)}
      </Cell>
    </Row>
  );
});

function statusOf(row: RunRow): string {
  return row.pending_approvals > 0 && !FINAL_STATUSES.has(row.status) ? "waiting_for_user" : row.status;
}

function RunBadges({ row }: { row: RunRow }) {
  const words = useWords("runs");
  const waiting = row.pending_approvals > 0 && !FINAL_STATUSES.has(row.status);
  const any = waiting || row.scripted || row.imported || row.parent_run_id || row.attempt > 1;
  return any ? (
    <div className="mt-0.5 flex flex-wrap gap-1">
      {waiting ? (
        <Badge tone="wait" icon={<HandIcon className="size-3.5" />}>
          {words.approvals(row.pending_approvals)}
        </Badge>
      ) : null}
      {row.scripted ? <Badge tone="model">{words.scripted}</Badge> : null}
      {row.imported ? <Badge>{words.imported}</Badge> : null}
      {row.parent_run_id ? <Badge>{words.subAgent}</Badge> : null}
      {row.attempt > 1 ? <Badge>{words.attempt(row.attempt)}</Badge> : null}
    </div>
  ) : null;
}

function StartTime({ at }: { at: string }) {
  const format = useFormat();
  const now = useNow();
  return (
    <time dateTime={at} title={format.date(at)}>
      {format.relative(at, now)}
    </time>
  );
}

/** How long it took; an open run counts on while it is looked at. */
function Duration({ row }: { row: RunRow }) {
  const format = useFormat();
  const now = useNow();
  if (row.duration_ms === null) {
    return "–";
  }
  const open = row.started_at !== null && !FINAL_STATUSES.has(row.status);
  const elapsed = open ? Math.max(row.duration_ms, now - Date.parse(row.started_at ?? "")) : row.duration_ms;
  return format.duration(open ? Math.round(elapsed / 1000) * 1000 : elapsed);
}
