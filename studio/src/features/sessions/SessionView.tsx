import { useState } from "react";
import { Link } from "wouter";
import { useApprovals } from "../../api/approvals";
import { useSession, useSessionRuns } from "../../api/sessions";
import { useFormat, useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { Button } from "../../ui/Button";
import { ErrorNote } from "../../ui/ErrorNote";
import { DeleteIcon } from "../../ui/icons";
import { Page } from "../../ui/Page";
import { Skeleton } from "../../ui/Skeleton";
import { DeleteSession } from "./DeleteSession";
import { SessionMessage } from "./SessionMessage";
import { SessionTurn } from "./SessionTurn";

const FIRST_RUNS = 20;

/** One session: its runs as a conversation, and a place to go on. */
export function SessionView({ id }: { id: string }) {
  const words = useWords("sessions");
  const format = useFormat();
  const session = useSession(id);
  const runs = useSessionRuns(id);
  const approvals = useApprovals();
  const [limit, setLimit] = useState(FIRST_RUNS);
  const [deleting, setDeleting] = useState(false);
  const title = displayText(session.data?.title ?? "") || words.untitled;
  const all = [...(runs.data ?? [])].reverse();
  const earlier = Math.max(0, all.length - limit);
  return (
    <Page
      title={session.data ? title : words.session}
      heading={
        <span className="line-clamp-3 [overflow-wrap:anywhere]">
          <bdi>{session.data ? title : words.session}</bdi>
        </span>
      }
      actions={
        session.data ? (
          <Button tone="danger" icon={<DeleteIcon />} onClick={() => setDeleting(true)}>
            {words.remove}
          </Button>
        ) : null
      }
    >
      <p className="flex flex-wrap gap-x-3 gap-y-1 text-soft">
        <Link href="/sessions">{words.all}</Link>
        {session.data ? <span>{words.opened(format.date(session.data.created_at))}</span> : null}
        {session.data && session.data.filesystem_sources.length > 0 ? (
          <span className="[overflow-wrap:anywhere]">
            {words.sources} {displayText(session.data.filesystem_sources.join(", "))}
          </span>
        ) : null}
      </p>
      <ErrorNote error={session.error ?? runs.error} onRetry={() => session.refetch()} />
      {session.data ? (
        <div className="flex w-full max-w-4xl min-w-0 flex-col gap-4">
          <h2 className="sr-only">{words.thread}</h2>
          {earlier > 0 ? (
            <div className="text-center">
              <Button small onClick={() => setLimit(limit + FIRST_RUNS)}>
                {words.earlier(Math.min(earlier, FIRST_RUNS))}
              </Button>
            </div>
          ) : null}
          {runs.isPending ? <Skeleton /> : null}
          {runs.data?.length === 0 ? <p className="py-6 text-center text-soft">{words.empty}</p> : null}
          {all.length > 0 ? (
            <ol aria-label={words.thread} className="flex min-w-0 flex-col gap-5">
              {all.slice(earlier).map((row) => (
                <SessionTurn
                  key={row.run_id}
                  row={row}
                  approvals={(approvals.data ?? []).filter(
                    (approval) => approval.run_id === row.run_id && !approval.decided,
                  )}
                />
              ))}
            </ol>
          ) : null}
          <SessionMessage id={id} />
        </div>
      ) : null}
      <DeleteSession id={id} title={title} open={deleting} onClose={() => setDeleting(false)} />
    </Page>
  );
}
