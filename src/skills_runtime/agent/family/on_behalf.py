"""What sub-agents ask, asked by the run that began them: the same words up, the same answer down, each exactly once."""

from pathlib import Path

import msgspec

from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRefused,
    ApprovalRequested,
    HumanRequest,
    HumanResponse,
)
from skills_runtime.ports import Inbox, Parked
from skills_runtime.projections.approvals import PendingApproval, SentDecision
from skills_runtime.projections.pending import PendingQuestion
from skills_runtime.runs import Run, RunPaths
from skills_runtime.runs.blobs import Blobs


async def pass_question(run: Run, child_id: str, question: PendingQuestion, inbox: Inbox) -> None:
    """Ask a child's question and give it the answer; raises `Parked` until there is one."""
    name, pending = f"{child_id}:{question.call_id}", run.view.pending
    if name not in pending.answers and name not in pending.responses:
        if name not in pending.questions:
            asked = HumanRequest(call_id=name, question=question.question, choices=question.choices, tool="wait")
            run.append(asked)
            await run.commit_async()
        raise Parked(name)
    if name in pending.answers:
        run.append(HumanResponse(call_id=name, answers=pending.answers[name]))
        await run.commit_async()
    said = {"call_id": question.call_id, "answers": pending.responses[name]}
    inbox.send(child_id, "answer", said, idempotency_key=name)


async def pass_approval(run: Run, child: Path, asked: PendingApproval, inbox: Inbox) -> None:
    """Ask for a child's approval and give it the decision; raises `Parked` until there is one."""
    approvals, name = run.view.pending.approvals, f"{child.name}:{asked.call_id}"
    sent = approvals.decision_on(asked.approval_id)
    if sent is not None:
        # First the child, then the record: said again after a crash it is the same message.
        body = {**sent.body, "run_id": child.name, "decided_at": sent.sent_at}
        if blob := sent.said("arguments_blob"):
            del body["arguments_blob"]
            body["arguments"] = msgspec.json.decode(run.blobs.get(blob))
        inbox.send(child.name, "approve", body, idempotency_key=f"decision-{asked.approval_id}")
        run.append(_decided(asked, sent, name))
        await run.commit_async()
        return
    if asked.approval_id not in approvals.open:
        outdated = approvals.of_call(name)
        if outdated is not None:
            run.append(_void(outdated))
        run.append(_requested(run, child, asked, name))
        await run.commit_async()
    raise Parked(name)


def _void(outdated: PendingApproval) -> ApprovalRefused:
    return ApprovalRefused(
        reason="changed",
        message="the sub-agent asks for something else by now",
        approval_id=outdated.approval_id,
        approval_key=outdated.approval_key,
        call_id=outdated.call_id,
    )


def _decided(asked: PendingApproval, sent: SentDecision, name: str) -> ApprovalDecided:
    return ApprovalDecided(
        approval_key=asked.approval_key,
        decision=sent.said("decision"),
        reason="inbox",
        call_id=name,
        decided_by=sent.said("decided_by"),
        approval_id=asked.approval_id,
        message_id=sent.message_id,
        note=sent.said("note"),
    )


def _requested(run: Run, child: Path, asked: PendingApproval, name: str) -> ApprovalRequested:
    """The child's request, with its own copy of what whoever decides is shown."""
    details = Blobs(RunPaths(child).blobs).get(asked.details_blob) if asked.details_blob else None
    return ApprovalRequested(
        approval_key=asked.approval_key,
        tool=asked.tool,
        call_id=name,
        summary=asked.summary,
        approval_id=asked.approval_id,
        rule=asked.rule,
        risk=asked.risk,
        expires_at=asked.expires_at,
        details_blob=run.keep(details) if details is not None else None,
    )
