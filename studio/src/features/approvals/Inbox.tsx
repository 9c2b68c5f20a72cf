import { useEffect, useRef } from "react";
import { Link, useLocation } from "wouter";
import { type Approval, useApprovals } from "../../api/approvals";
import { ApprovalCard, type ApprovalHandle, type DecidedHere } from "../../events/approval/ApprovalCard";
import { OutcomeNote } from "../../events/approval/OutcomeNote";
import { useWords } from "../../i18n";
import { shownText } from "../../lib/hidden";
import { EmptyState } from "../../ui/EmptyState";
import { ErrorNote } from "../../ui/ErrorNote";
import { announce } from "../../ui/LiveRegion";
import { Skeleton } from "../../ui/Skeleton";
import { toast } from "../../ui/Toast";
import { useInboxKeys } from "./useInboxKeys";
import { useSettled } from "./useSettled";

/** Everything that waits for a decision, oldest first, and what was decided since the page was opened. */
export function Inbox({ id }: { id?: string }) {
  const words = useWords("approvals");
  const { data, error, isPending, refetch } = useApprovals();
  const [, navigate] = useLocation();
  const cards = useRef(new Map<string, ApprovalHandle>());
  const top = useRef<HTMLParagraphElement>(null);
  const last = useRef<string | undefined>(undefined);
  const { settled, here } = useSettled(data, (approval) => {
    toast(words.elsewhere(shownText(approval.tool)));
    if (last.current === approval.approval_id && document.activeElement === document.body) {
      hush();
      goOn(approval);
    }
  });
  const gone = new Set(settled.map((one) => one.approval.approval_key));
  const waiting = (data ?? []).filter((one) => !one.decided && !gone.has(one.approval_key));

  /** Where the keys go on after a request is gone: to the next one, else to the sentence above the list. */
  const goOn = (approval: Approval) => {
    const others = waiting.filter((one) => one.approval_id !== approval.approval_id);
    const next = others.find((one) => one.since >= approval.since) ?? others.at(-1);
    const card = next ? cards.current.get(next.approval_id) : undefined;
    if (card) {
      card.focus();
    } else {
      top.current?.focus();
    }
  };
  const onDecided = (approval: Approval, { decision, stale }: DecidedHere) => {
    goOn(approval);
    here(approval, stale);
    const left = waiting.length - 1;
    announce(`${stale ? words.stale : (words.outcomes[decision] ?? decision)} ${words.left(left)}`);
  };
  const hush = useInboxKeys(waiting, cards.current, (next) =>
    navigate(`/approvals/${next}`, { replace: true }),
  );

  const wanted = id && waiting.some((one) => one.approval_id === id) ? id : undefined;
  const arrived = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (wanted && arrived.current !== wanted) {
      arrived.current = wanted;
      cards.current.get(wanted)?.focus();
    }
  }, [wanted]);

  if (isPending) {
    return <Skeleton />;
  }
  return (
    <div className="flex w-full max-w-5xl min-w-0 flex-col gap-4">
      <ErrorNote error={error} onRetry={() => refetch()} />
      {id && data && !wanted && !settled.some((one) => one.approval.approval_id === id) ? (
        <p className="text-soft">{words.notOpen}</p>
      ) : null}
      <p ref={top} tabIndex={-1} className={waiting.length > 0 ? "text-soft outline-none" : "sr-only"}>
        {waiting.length > 0 ? `${words.waiting(waiting.length)} ${words.keysHint}` : words.none}
      </p>
      {waiting.length > 0 ? (
        <ol
          aria-label={words.list}
          className="flex min-w-0 flex-col gap-4"
          onFocus={(event) => {
            last.current =
              event.target.closest("[data-approval]")?.getAttribute("data-approval") ?? undefined;
          }}
        >
          {waiting.map((approval) => (
            <li key={approval.approval_id} className="min-w-0">
              <ApprovalCard
                approval={approval}
                onDecided={(decided) => onDecided(approval, decided)}
                handle={(card) => {
                  if (card) {
                    cards.current.set(approval.approval_id, card);
                  } else {
                    cards.current.delete(approval.approval_id);
                  }
                }}
              />
            </li>
          ))}
        </ol>
      ) : error ? null : (
        <EmptyState title={words.none} actions={<Link href="/runs">{words.toRuns}</Link>}>
          {words.noneHint}
        </EmptyState>
      )}
      {settled.length > 0 ? (
        <section aria-labelledby="settled" className="flex min-w-0 flex-col gap-2">
          <h2 id="settled" className="font-semibold">
            {words.settled}
          </h2>
          {settled.map(({ approval, stale }) => (
            <OutcomeNote key={approval.approval_id} approval={approval} stale={stale} />
          ))}
        </section>
      ) : null}
    </div>
  );
}
