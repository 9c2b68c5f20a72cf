"""What a run is waiting for: approvals and questions nobody has answered yet."""

import msgspec

from skills_runtime.events import Event
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRequested,
    HumanRequest,
    HumanResponse,
    RunCancelled,
    RunCompleted,
    RunFailed,
)

READS = frozenset(
    {ApprovalRequested, ApprovalDecided, HumanRequest, HumanResponse, RunCompleted, RunFailed, RunCancelled}
)
"""The payloads this projection looks at."""


class PendingApproval(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits for a decision."""

    approval_key: str
    tool: str
    call_id: str
    summary: str
    seq: int
    since: str


class PendingQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question that waits for an answer."""

    call_id: str
    question: str
    choices: list[str]
    seq: int
    since: str


class Pending(msgspec.Struct):
    """Everything open, oldest first."""

    approvals: dict[str, PendingApproval] = {}
    questions: dict[str, PendingQuestion] = {}

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        match event.payload:
            case ApprovalRequested() as asked:
                self.approvals[asked.approval_key] = PendingApproval(
                    approval_key=asked.approval_key,
                    tool=asked.tool,
                    call_id=asked.call_id,
                    summary=asked.summary,
                    seq=event.seq,
                    since=event.timestamp,
                )
            case ApprovalDecided(approval_key=key):
                self.approvals.pop(key, None)
            case HumanRequest() as asked:
                self.questions[asked.call_id] = PendingQuestion(
                    call_id=asked.call_id,
                    question=asked.question,
                    choices=asked.choices,
                    seq=event.seq,
                    since=event.timestamp,
                )
            case HumanResponse(call_id=call_id):
                self.questions.pop(call_id, None)
            case RunCompleted() | RunFailed() | RunCancelled():
                self.approvals, self.questions = {}, {}
            case _:
                pass
