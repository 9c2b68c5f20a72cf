import { lazy, Suspense } from "react";
import { Link } from "wouter";
import { useApprovals } from "../../../api/approvals";
import type { ApprovalView } from "../../../events";
import { useWords } from "../../../i18n";
import { HandIcon } from "../../../ui/icons";
import { PlainText } from "../../../ui/PlainText";
import { useRunContext } from "./runContext";

const ApprovalCard = lazy(async () => ({
  default: (await import("../../../events/approval/ApprovalCard")).ApprovalCard,
}));

/** A request that waits, decided on where it was asked. */
export function OpenApproval({ approval }: { approval: ApprovalView }) {
  const { runId, live } = useRunContext();
  const open = useApprovals(runId);
  const request = live
    ? open.data?.find((candidate) => candidate.approval_id === approval.approval_id)
    : undefined;
  const short = <Summary approval={approval} />;
  return request ? (
    <Suspense fallback={short}>
      <ApprovalCard approval={request} compact />
    </Suspense>
  ) : (
    short
  );
}

function Summary({ approval }: { approval: ApprovalView }) {
  const words = useWords("run");
  return (
    <div className="flex gap-2 rounded-md border border-wait bg-wait-soft p-2">
      <HandIcon className="mt-0.5 size-4 shrink-0 text-wait" />
      <div className="min-w-0">
        <p className="font-medium">{words.asksApproval}</p>
        <PlainText text={approval.summary || approval.tool} className="line-clamp-6" />
        <Link href={`/approvals/${encodeURIComponent(approval.approval_id)}`}>{words.toApproval}</Link>
      </div>
    </div>
  );
}
