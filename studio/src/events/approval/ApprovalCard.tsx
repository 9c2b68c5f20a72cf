import type { Ref } from "react";
import { useId, useImperativeHandle, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { Link } from "wouter";
import { type Approval, requestKey, useDecide } from "../../api/approvals";
import { problemOf } from "../../api/problem";
import { useFormat, useWords } from "../../i18n";
import { useNow } from "../../lib/clock";
import { displayText } from "../../lib/hiddenCharacters";
import { Disclosure } from "../../ui/Disclosure";
import { ErrorNote } from "../../ui/ErrorNote";
import { HandIcon } from "../../ui/icons";
import { announce } from "../../ui/LiveRegion";
import { ApprovalFacts } from "./ApprovalFacts";
import { CallPreview } from "./CallPreview";
import { type Choice, DecisionForm } from "./DecisionForm";
import { ExpiryMark } from "./ExpiryMark";
import { OutcomeNote } from "./OutcomeNote";
import { RiskMark } from "./RiskMark";

/** What keys do to a card. */
export interface ApprovalHandle {
  focus(): void;
  approve(): void;
  reject(): void;
  edit(): void;
  diff(): void;
}

/** The result of a decision on the card; `stale` if another decision came first. */
export interface DecisionResult {
  decision: Choice["decision"];
  stale: boolean;
}

/** What a card takes; a compact one stands inside a run and keeps its details closed. */
export interface ApprovalCardProps {
  approval: Approval;
  onDecided?: (decided: DecisionResult) => void;
  compact?: boolean;
  handle?: Ref<ApprovalHandle>;
}

/** A request for approval with everything needed to decide on it; afterwards, what became of it. */
export function ApprovalCard({ approval, onDecided, compact, handle }: ApprovalCardProps) {
  const words = useWords("approvals");
  const [stale, setStale] = useState(false);
  const [editing, setEditing] = useState(false);
  const [rejecting, setRejecting] = useState(false);
  const [diffOpen, setDiffOpen] = useState(!compact);
  const decide = useDecide();
  const isSent = useRef(false);
  const card = useRef<HTMLElement>(null);
  const approve = useRef<HTMLButtonElement>(null);
  const note = useRef<HTMLTextAreaElement>(null);
  const editor = useRef<HTMLTextAreaElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const title = useId();

  const choose = (choice: Choice) => {
    if (isSent.current) {
      return;
    }
    isSent.current = true;
    const { approval_id, approval_key, run_id } = approval;
    decide.mutate(
      { approval_id, approval_key, run_id, ...choice },
      {
        onSuccess: () => onDecided?.({ decision: choice.decision, stale: false }),
        onError: (error) => {
          isSent.current = false;
          if (problemOf(error).kind === "approval_stale") {
            setStale(true);
            announce(words.stale);
            onDecided?.({ decision: choice.decision, stale: true });
          }
        },
      },
    );
  };
  const edit = (open: boolean) => {
    flushSync(() => setEditing(open));
    (open ? editor : opener).current?.focus();
  };
  const reject = (open: boolean) => {
    flushSync(() => setRejecting(open));
    if (open) {
      note.current?.focus();
    }
  };
  useImperativeHandle(handle, () => ({
    focus: () => card.current?.focus(),
    approve() {
      if (approval.risk.level === "high" || editing) {
        // One key is not enough for what is dangerous, or where something else was about to be approved.
        approve.current?.focus();
        announce(words.approveKey);
      } else {
        choose({ decision: "approved" });
      }
    },
    reject: () => reject(true),
    edit: () => edit(true),
    diff: () => setDiffOpen((before) => !before),
  }));

  if (stale || decide.isSuccess || approval.decided) {
    return <OutcomeNote approval={approval} stale={stale} showRun={!compact} />;
  }
  return (
    <article
      ref={card}
      tabIndex={-1}
      aria-labelledby={title}
      data-approval={requestKey(approval)}
      className="flex min-w-0 scroll-mt-24 flex-col gap-3 rounded-lg border border-line bg-surface p-3 focus:border-accent sm:p-4"
    >
      <CardHeader approval={approval} titleId={title} compact={compact} />
      <CallPreview approval={approval} diffOpen={diffOpen} onDiff={setDiffOpen} />
      {compact ? (
        <Disclosure title={words.details}>
          <ApprovalFacts approval={approval} />
        </Disclosure>
      ) : (
        <ApprovalFacts approval={approval} />
      )}
      <DecisionForm
        approval={approval}
        busy={decide.isPending}
        editing={editing}
        onEditing={edit}
        rejecting={rejecting}
        onRejecting={reject}
        onChoose={choose}
        refs={{ approve, note, editor, opener }}
      />
      <ErrorNote error={decide.error} />
    </article>
  );
}

function CardHeader({
  approval,
  titleId,
  compact,
}: {
  approval: Approval;
  titleId: string;
  compact: boolean | undefined;
}) {
  const words = useWords("approvals");
  const format = useFormat();
  const now = useNow();
  const Heading = compact ? "h3" : "h2";
  return (
    <header className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
      <Heading id={titleId} className="flex min-w-0 items-center gap-1.5 font-semibold">
        <HandIcon className="size-4 shrink-0 text-wait" />
        <span className="[overflow-wrap:anywhere]">{words.wants(displayText(approval.tool))}</span>
      </Heading>
      <RiskMark level={approval.risk.level} />
      {approval.expires_at ? <ExpiryMark at={approval.expires_at} /> : null}
      <span className="ml-auto flex flex-wrap items-center gap-x-3 text-soft">
        <time dateTime={approval.since} title={format.date(approval.since)}>
          {words.since(format.relative(approval.since, now))}
        </time>
      </span>
      {compact ? null : (
        <p className="w-full min-w-0 truncate text-soft">
          {words.inRun}{" "}
          <Link href={`/runs/${approval.run_id}`}>
            <bdi>{displayText(approval.run_title) || approval.run_id}</bdi>
          </Link>
        </p>
      )}
    </header>
  );
}
