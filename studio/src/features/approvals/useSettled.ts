import { useEffect, useRef, useState } from "react";
import { type Approval, requestKey } from "../../api/approvals";

/** Keeps what was decided while the page is shown, newest first; tells when an open one is suddenly gone. */
export function useSettled(
  all: readonly Approval[] | undefined,
  onGone: (approval: Approval) => void,
): { settled: readonly Approval[]; settle: (approval: Approval) => void } {
  const [settled, setSettled] = useState<readonly Approval[]>([]);
  const open = useRef(new Map<string, Approval>());
  const over = useRef(new Set<string>());
  const tell = useRef(onGone);
  tell.current = onGone;
  const settle = useRef((approval: Approval) => {
    open.current.delete(requestKey(approval));
    over.current.add(requestKey(approval));
    setSettled((before) => [
      approval,
      ...before.filter((other) => requestKey(other) !== requestKey(approval)),
    ]);
  });
  useEffect(() => {
    if (!all) {
      return;
    }
    const now = new Map(all.map((approval) => [requestKey(approval), approval]));
    for (const [key, before] of [...open.current]) {
      const current = now.get(key);
      if (!current || current.decided) {
        settle.current(current ?? before);
        tell.current(before);
      }
    }
    for (const [key, approval] of now) {
      // An answer that was on its way when a decision was made may still list it.
      if (!approval.decided && !over.current.has(key)) {
        open.current.set(key, approval);
      }
    }
  }, [all]);
  return { settled, settle: settle.current };
}
