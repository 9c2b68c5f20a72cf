import { useEffect, useRef, useState } from "react";
import type { Approval } from "../../api/approvals";

/** A request that was open on this page and is not any more. */
export interface Settled {
  approval: Approval;
  /** Somebody else was faster than a decision made here. */
  stale: boolean;
}

/** Keeps what was decided while the page is shown, newest first; tells when that happened elsewhere. */
export function useSettled(
  all: readonly Approval[] | undefined,
  onElsewhere: (approval: Approval) => void,
): { settled: readonly Settled[]; here: (approval: Approval, stale: boolean) => void } {
  const [settled, setSettled] = useState<readonly Settled[]>([]);
  const open = useRef(new Map<string, Approval>());
  const tell = useRef(onElsewhere);
  tell.current = onElsewhere;
  const add = useRef((approval: Approval, stale: boolean) => {
    open.current.delete(approval.approval_id);
    setSettled((before) => [
      { approval, stale },
      ...before.filter((one) => one.approval.approval_id !== approval.approval_id),
    ]);
  });
  useEffect(() => {
    if (!all) {
      return;
    }
    const now = new Map(all.map((one) => [one.approval_id, one]));
    for (const [id, before] of [...open.current]) {
      const current = now.get(id);
      if (!current || current.decided) {
        add.current(current ?? before, false);
        tell.current(before);
      }
    }
    for (const [id, one] of now) {
      if (!one.decided) {
        open.current.set(id, one);
      }
    }
  }, [all]);
  return { settled, here: add.current };
}
