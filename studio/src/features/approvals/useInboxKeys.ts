import { useRef } from "react";
import { type Approval, requestKey } from "../../api/approvals";
import type { ApprovalHandle } from "../../events/approval/ApprovalCard";
import { useWords } from "../../i18n";
import { useKeys } from "../../lib/keys";

const SUSPEND_MS = 1_500;

/** The keys of the inbox, for the request that has the focus; call what it returns to make them wait for a pause in typing. */
export function useInboxKeys(
  waiting: readonly Approval[],
  cards: ReadonlyMap<string, ApprovalHandle>,
  onMove: (id: string) => void,
): () => void {
  const words = useWords("approvals");
  const findFocused = () => {
    const focused = document.activeElement?.closest("[data-approval]")?.getAttribute("data-approval");
    return waiting.findIndex((approval) => requestKey(approval) === focused);
  };
  const move = (step: number) => {
    const at = findFocused();
    const next = waiting[at < 0 ? 0 : Math.min(waiting.length - 1, Math.max(0, at + step))];
    if (next) {
      cards.get(requestKey(next))?.focus();
      onMove(next.approval_id);
    }
  };
  const quietUntil = useRef(0);
  const suspend = () => {
    quietUntil.current = Date.now() + SUSPEND_MS;
  };
  const act = (action: "approve" | "reject" | "edit" | "diff") => (event: KeyboardEvent) => {
    if (Date.now() < quietUntil.current) {
      suspend(); // the user may still be typing into a field that is gone
      return;
    }
    if (event.repeat) {
      return; // a key that is held down decides once
    }
    const current = waiting[findFocused()];
    if (current) {
      cards.get(requestKey(current))?.[action]();
    } else {
      // No request has the focus yet: the first key only moves it there.
      move(0);
    }
  };
  useKeys([
    { keys: "j", label: words.keyNext, run: () => move(1) },
    { keys: "k", label: words.keyPrevious, run: () => move(-1) },
    { keys: "a", label: words.keyApprove, run: act("approve") },
    { keys: "r", label: words.keyReject, run: act("reject") },
    { keys: "e", label: words.keyEdit, run: act("edit") },
    { keys: "d", label: words.keyDiff, run: act("diff") },
  ]);
  return suspend;
}
