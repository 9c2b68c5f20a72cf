import { Link } from "wouter";
import type { Approval } from "../../api/approvals";
import { useFormat, useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { Badge, type Tone } from "../../ui/Badge";
import { DoneIcon, InfoIcon, StoppedIcon } from "../../ui/icons";
import { PlainText } from "../../ui/PlainText";
import { Spinner } from "../../ui/Spinner";
import type { Outcome } from "./outcome";
import { useOutcome } from "./useOutcome";

const ICON = "size-3.5 shrink-0";

/** One line of what became of a request: decided how, by whom, when and why; `stale` says that a decision came too late. */
export function OutcomeNote({
  approval,
  stale,
  showRun = true,
}: {
  approval: Approval;
  stale?: boolean;
  showRun?: boolean;
}) {
  const words = useWords("approvals");
  const outcome = useOutcome(approval);
  return (
    <article
      aria-label={words.request(displayText(approval.tool))}
      className="flex min-w-0 flex-col gap-1 rounded-md border border-line bg-surface px-3 py-2"
    >
      {stale ? <p className="font-medium text-wait">{words.stale}</p> : null}
      <div className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-1">
        {outcome ? <OutcomeText outcome={outcome} /> : <Spinner label={words.sending} />}
        <code className="min-w-0 flex-1 truncate font-mono text-xs" title={displayText(approval.summary)}>
          {displayText(approval.summary || approval.tool).slice(0, 300)}
        </code>
        {showRun ? <Link href={`/runs/${approval.run_id}`}>{words.run}</Link> : null}
      </div>
      {outcome?.note ? <PlainText text={outcome.note} className="text-soft" /> : null}
    </article>
  );
}

function OutcomeText({ outcome }: { outcome: Outcome }) {
  const words = useWords("approvals");
  const format = useFormat();
  const [tone, Icon] = styleOf(outcome.kind);
  return (
    <>
      <Badge tone={tone} icon={<Icon className={ICON} />}>
        {words.outcomes[outcome.kind] ?? outcome.kind}
      </Badge>
      <span>
        {[
          outcome.by ? words.by(displayText(outcome.by)) : "",
          outcome.edited ? words.edited : "",
          outcome.rule ? words.ruleAdded : "",
        ]
          .filter(Boolean)
          .join(" · ")}
      </span>
      {outcome.at ? (
        <time dateTime={outcome.at} title={format.date(outcome.at)} className="text-soft">
          {format.time(outcome.at)}
        </time>
      ) : null}
    </>
  );
}

function styleOf(kind: string): [Tone, typeof InfoIcon] {
  if (kind.startsWith("approved")) {
    return ["good", DoneIcon];
  }
  return kind === "denied" || kind === "abort" ? ["bad", StoppedIcon] : ["neutral", InfoIcon];
}
