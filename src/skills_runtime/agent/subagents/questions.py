"""Relay questions and approval requests of sub-agents through their parent run, each exactly once."""

import hashlib
from pathlib import Path

import msgspec

from skills_runtime.errors import LogCorrupt
from skills_runtime.events import ApprovalDecided, ApprovalRefused, ApprovalRequested, HumanRequest, HumanResponse
from skills_runtime.ports import Inbox
from skills_runtime.projections import Pending, PendingApproval, PendingQuestion
from skills_runtime.runs import Blobs, Run, RunPaths, read_events


async def relay_question(run: Run, child: Path, question: PendingQuestion, inbox: Inbox) -> bool:
    """Ask a child's question in the parent, or send the answer to the child; return whether there was an answer."""
    name, pending = f"{child.name}:{question.call_id}", run.view.pending
    if name not in pending.answers and name not in pending.responses:
        if name not in pending.questions:
            # Copy the full question with choices and context from the child's log.
            event = next(read_events(RunPaths(child), from_seq=question.seq))
            if not isinstance(event.payload, HumanRequest):
                raise LogCorrupt(f"event {question.seq} of `{child.name}` is not the recorded question")
            run.append(msgspec.structs.replace(event.payload, call_id=name, tool="wait"))
            await run.commit_async()
        return False
    if name in pending.answers:
        answers = pending.answers[name]
        run.append(HumanResponse(call_id=name, answer=next(iter(answers.values()), ""), answers=answers))
        await run.commit_async()
    body = {"call_id": question.call_id, "answers": pending.responses[name]}
    inbox.send(child.name, "answer", body, idempotency_key=f"answer-{hashlib.sha256(name.encode()).hexdigest()}")
    return True


async def relay_approval(run: Run, child: Path, approval: PendingApproval, inbox: Inbox) -> bool:
    """Request a child's approval in the parent, or send the decision to the child; return whether there was one."""
    approvals, name = run.view.pending.approvals, f"{child.name}:{approval.call_id}"
    decision = approvals.find_decision(approval.approval_id)
    if decision is not None:
        # Send first, record second: after a crash the same message is sent again, and the inbox deduplicates it.
        body = {**decision.body, "run_id": child.name, "decided_at": decision.sent_at}
        if blob := decision.text_field("arguments_blob"):
            del body["arguments_blob"]
            body["arguments"] = msgspec.json.decode(run.blobs.get(blob))
        inbox.send(child.name, "approve", body, idempotency_key=f"decision-{approval.approval_id}")
        run.append(
            ApprovalDecided(
                approval_key=approval.approval_key,
                decision=decision.text_field("decision"),
                reason="inbox",
                call_id=name,
                decided_by=decision.text_field("decided_by"),
                approval_id=approval.approval_id,
                message_id=decision.message_id,
                note=decision.text_field("note"),
            )
        )
        await run.commit_async()
        return True
    if approval.approval_id not in approvals.open:
        outdated = approvals.find_by_call(name)
        if outdated is not None:
            run.append(_void(outdated, "the sub-agent has replaced this request"))
        # Copy the details that the approver sees into this run's blobs.
        details = Blobs(RunPaths(child).blobs).get(approval.details_blob) if approval.details_blob else None
        run.append(
            ApprovalRequested(
                approval_key=approval.approval_key,
                tool=approval.tool,
                call_id=name,
                summary=approval.summary,
                approval_id=approval.approval_id,
                rule=approval.rule,
                risk=approval.risk,
                expires_at=approval.expires_at,
                details_blob=run.put_blob(details) if details is not None else None,
            )
        )
        await run.commit_async()
    return False


async def withdraw_requests(run: Run, child: Path, pending: Pending) -> None:
    """Close relayed requests that the child no longer waits for: it was answered directly, or it has ended."""
    prefix, last_seq = f"{child.name}:", run.view.state.last_seq
    for name in [*run.view.pending.questions, *run.view.pending.answers]:
        if name.startswith(prefix) and name.removeprefix(prefix) not in pending.questions:
            # Use the answer that the child received directly, or an empty one if there was none.
            call_id = name.removeprefix(prefix)
            response = HumanResponse(call_id=call_id)
            for event in read_events(RunPaths(child)):
                if isinstance(event.payload, HumanResponse) and event.payload.call_id == call_id:
                    response = event.payload
            run.append(msgspec.structs.replace(response, call_id=name))
    for approval in list(run.view.pending.approvals.open.values()):
        if approval.call_id.startswith(prefix) and approval.approval_id not in pending.approvals.open:
            run.append(_void(approval, "the sub-agent no longer needs this decision"))
    if run.view.state.last_seq > last_seq:
        await run.commit_async()


def _void(outdated: PendingApproval, reason: str) -> ApprovalRefused:
    return ApprovalRefused(
        reason="changed",
        message=reason,
        approval_id=outdated.approval_id,
        approval_key=outdated.approval_key,
        call_id=outdated.call_id,
    )
