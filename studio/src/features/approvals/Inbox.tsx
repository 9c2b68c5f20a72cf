import { useEffect, useRef } from "react";
import { Link, useLocation } from "wouter";
import { type Approval, requestKey, useApprovals, useOwnDecisions } from "../../api/approvals";
import { ApprovalCard, type ApprovalHandle, type DecisionResult } from "../../events/approval/ApprovalCard";
import { OutcomeNote } from "../../events/approval/OutcomeNote";
import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
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
  const ownDecisions = useOwnDecisions();
  const { settled, settle } = useSettled(data, (approval) => {
    const isOwnDecision = ownDecisions.has(requestKey(approval));
    if (!isOwnDecision) {
      toast(words.elsewhere(displayText(approval.tool)));
    }
    if (last.current === requestKey(approval) && document.activeElement === document.body) {
      if (!isOwnDecision) {
        suspendKeys();
      }
      focusNext(approval);
    }
  });
  const settledKeys = new Set(settled.map(requestKey));
  const waiting = (data ?? []).filter(
    (approval) => !approval.decided && !settledKeys.has(requestKey(approval)),
  );

  /** Where the keys go on after a request is gone: to the next one, else to the sentence above the list. */
  const focusNext = (approval: Approval) => {
    const others = waiting.filter((other) => requestKey(other) !== requestKey(approval));
    const next = others.find((other) => other.since >= approval.since) ?? others.at(-1);
    const card = next ? cards.current.get(requestKey(next)) : undefined;
    if (card) {
      card.focus();
    } else {
      top.current?.focus();
    }
  };
  const onDecided = (approval: Approval, { decision, stale }: DecisionResult) => {
    focusNext(approval);
    settle(approval);
    const remaining = waiting.length - 1;
    announce(`${stale ? words.stale : (words.outcomes[decision] ?? decision)} ${words.left(remaining)}`);
  };
  const suspendKeys = useInboxKeys(waiting, cards.current, (next) =>
    navigate(`/approvals/${next}`, { replace: true }),
  );

  const openApproval = waiting.find((approval) => approval.approval_id === id);
  const openKey = openApproval ? requestKey(openApproval) : undefined;
  const arrived = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (openKey && arrived.current !== openKey) {
      arrived.current = openKey;
      cards.current.get(openKey)?.focus();
    }
  }, [openKey]);

  if (isPending) {
    return <Skeleton />;
  }
  return (
    <div className="flex w-full max-w-5xl min-w-0 flex-col gap-4">
      <ErrorNote error={error} onRetry={() => refetch()} />
      {id && data && !openKey && !settled.some((approval) => approval.approval_id === id) ? (
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
            <li key={requestKey(approval)} className="min-w-0">
              <ApprovalCard
                approval={approval}
                onDecided={(decided) => onDecided(approval, decided)}
                handle={(card) => {
                  if (card) {
                    cards.current.set(requestKey(approval), card);
                  } else {
                    cards.current.delete(requestKey(approval));
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
          {settled.map((approval) => (
            <OutcomeNote
              key={requestKey(approval)}
              approval={approval}
              stale={ownDecisions.get(requestKey(approval)) === "late"}
            />
          ))}
        </section>
      ) : null}
    </div>
  );
}
