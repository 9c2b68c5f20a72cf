import { useState } from "react";
import { Link } from "wouter";
import { type SessionRow, useSessions } from "../../api/sessions";
import { useFormat, useWords } from "../../i18n";
import { useNow } from "../../lib/clock";
import { displayText } from "../../lib/hiddenCharacters";
import { Button } from "../../ui/Button";
import { EmptyState } from "../../ui/EmptyState";
import { ErrorNote } from "../../ui/ErrorNote";
import { PlusIcon } from "../../ui/icons";
import { Page } from "../../ui/Page";
import { Skeleton } from "../../ui/Skeleton";
import { StatusMark } from "../../ui/StatusMark";
import { NewSession } from "./NewSession";

/** All sessions as threads, the one that changed last first. */
export function SessionList() {
  const words = useWords("sessions");
  const { data, error, isPending, refetch } = useSessions();
  const [opening, setOpening] = useState(false);
  return (
    <Page
      title={words.title}
      actions={
        <Button icon={<PlusIcon />} onClick={() => setOpening(true)}>
          {words.open}
        </Button>
      }
    >
      <ErrorNote error={error} onRetry={() => refetch()} />
      {isPending ? <Skeleton /> : null}
      {data?.length === 0 ? (
        <EmptyState title={words.none} actions={<Link href="/new">{words.start}</Link>}>
          {words.noneHint}
        </EmptyState>
      ) : null}
      {data && data.length > 0 ? (
        <ul
          aria-label={words.list}
          className="divide-y overflow-hidden rounded-lg border border-line bg-surface"
        >
          {data.map((row) => (
            <SessionLine key={row.session_id} row={row} />
          ))}
        </ul>
      ) : null}
      <NewSession open={opening} onClose={() => setOpening(false)} />
    </Page>
  );
}

function SessionLine({ row }: { row: SessionRow }) {
  const words = useWords("sessions");
  const format = useFormat();
  const now = useNow();
  return (
    <li className="relative flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2.5 hover:bg-sunken">
      <Link
        href={`/sessions/${row.session_id}`}
        className="min-w-0 flex-1 basis-60 truncate font-medium no-underline after:absolute after:inset-0"
      >
        <bdi>{displayText(row.title) || words.untitled}</bdi>
      </Link>
      <span className="text-soft">{words.runs(row.runs_count)}</span>
      <time dateTime={row.updated_at} title={format.date(row.updated_at)} className="text-soft">
        {words.changed(format.relative(row.updated_at, now))}
      </time>
      {row.status ? <StatusMark state={row.status} /> : null}
    </li>
  );
}
