import { Link } from "wouter";
import { type Approval, requestKey } from "../../api/approvals";
import { FINAL_STATUSES, type Run, type RunRow, useRun } from "../../api/runs";
import { ApprovalCard } from "../../events/approval/ApprovalCard";
import { useFormat, useMessages, useWords } from "../../i18n";
import { Markdown } from "../../ui/Markdown";
import { PlainText } from "../../ui/PlainText";
import { ServerText } from "../../ui/ServerText";
import { Skeleton } from "../../ui/Skeleton";
import { StatusMark } from "../../ui/StatusMark";

/** One run of a session: what was asked, and what came of it. */
export function SessionTurn({ row, approvals }: { row: RunRow; approvals: readonly Approval[] }) {
  const words = useWords("sessions");
  const format = useFormat();
  const { data } = useRun(row.run_id);
  const state = data?.status ?? row.status;
  return (
    <li className="flex min-w-0 flex-col gap-2">
      <section
        aria-label={words.task}
        className="max-w-[85%] min-w-0 self-end rounded-lg bg-accent-soft px-3 py-2"
      >
        <PlainText text={data?.task || row.title} className="max-h-80 overflow-y-auto" />
      </section>
      <section
        aria-label={words.answer}
        className="min-w-0 rounded-lg border border-line bg-surface px-3 py-2"
      >
        <p className="mb-1 flex flex-wrap items-center gap-x-3 gap-y-1 text-soft">
          <StatusMark state={state} />
          <time dateTime={row.created_at}>{format.date(row.created_at)}</time>
          <Link href={`/runs/${row.run_id}`}>{words.openRun}</Link>
        </p>
        {data ? <Answer run={data} /> : <Skeleton lines={2} />}
      </section>
      {approvals.map((approval) => (
        <ApprovalCard key={requestKey(approval)} approval={approval} compact />
      ))}
    </li>
  );
}

function Answer({ run }: { run: Run }) {
  const words = useWords("sessions");
  const messages = useMessages();
  if (run.final_output) {
    return <Markdown text={run.final_output} />;
  }
  if (run.failure_reason) {
    const meaning = messages.error(run.error_kind ?? "");
    return (
      <>
        {meaning ? <p className="font-medium">{meaning}</p> : null}
        <ServerText text={run.failure_reason} />
      </>
    );
  }
  if (run.questions.length > 0) {
    return <p className="text-wait">{words.question}</p>;
  }
  if (FINAL_STATUSES.has(run.status)) {
    return <p className="text-soft">{words.noAnswer}</p>;
  }
  return <p className="text-soft">{run.status === "waiting_for_user" ? words.waits : words.working}</p>;
}
