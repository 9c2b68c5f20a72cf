"""What is shown of a request for approval, to whoever decides."""

import msgspec

from skills_runtime.ports import ApprovalRequest
from skills_runtime.projections.approvals import PendingApproval
from skills_runtime.runs import RunPaths, blobs_of


def shown_request(paths: RunPaths, run_id: str, pending: PendingApproval) -> ApprovalRequest:
    """Everything whoever decides is shown, to the letter; an older log has only the summary."""
    if pending.details_blob is not None:
        return msgspec.json.decode(blobs_of(paths).get(pending.details_blob), type=ApprovalRequest)
    return ApprovalRequest(
        approval_key=pending.approval_key,
        tool=pending.tool,
        summary=pending.summary,
        approval_id=pending.approval_id,
        run_id=run_id,
        call_id=pending.call_id,
        rule=pending.rule,
        risk=pending.risk,
        expires_at=pending.expires_at,
    )
