"""What a run is waiting for: approvals and questions nobody has answered yet."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from skills_runtime.events import (
    ContextRecoveryDecided,
    Event,
    HumanRequest,
    HumanResponse,
    InboxReceived,
    RunCancelled,
    RunCompleted,
    RunFailed,
    ToolCallFinished,
)
from skills_runtime.projections import approvals
from skills_runtime.projections.approvals import Approvals

READS = approvals.READS | frozenset(
    {
        HumanRequest,
        HumanResponse,
        InboxReceived,
        ContextRecoveryDecided,
        RunCompleted,
        RunFailed,
        RunCancelled,
        ToolCallFinished,
    }
)
"""The payloads this projection looks at."""


CONTEXT_RECOVERY = "context-recovery"
"""What the questions about a full context are called, each with `#` and its number: they belong to no call."""


class PendingQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question that waits for an answer."""

    call_id: str
    question: str
    choices: list[str]
    seq: int
    since: str
    ids: list[str] = []
    """What its parts are called, when there are several."""


class Pending(msgspec.Struct):
    """Everything open, oldest first."""

    approvals: Approvals = msgspec.field(default_factory=Approvals)
    questions: dict[str, PendingQuestion] = {}
    answers: dict[str, dict[str, str]] = {}
    """What people sent, by call, and the run has not heard yet."""
    responses: dict[str, dict[str, str]] = {}
    """What the run has heard, by call, until the call that asked is settled."""
    cancelled: str = ""
    """Why somebody wants the run to stop."""

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        if type(event.payload) is ToolCallFinished:  # by far the most frequent, so it is not looked for in turn
            self._close(event.payload.call_id)
            return
        match event.payload:
            case HumanRequest() as request:
                self.questions[request.call_id] = PendingQuestion(
                    call_id=request.call_id,
                    question=request.question,
                    choices=request.choices,
                    seq=event.seq,
                    since=event.timestamp,
                    ids=[str(question.get("id", "")) for question in request.questions],
                )
            case HumanResponse(call_id=call_id) as response:
                self.questions.pop(call_id, None)
                self.answers.pop(call_id, None)
                self.responses[call_id] = response.answers or {"answer": response.answer}
            case InboxReceived(kind="answer", body=body):
                self._match_answer(body)
            case InboxReceived(kind="cancel", body=body):
                self.cancelled = str(body.get("reason") or "cancelled")
            case ContextRecoveryDecided():
                self._close(CONTEXT_RECOVERY)
            case RunCompleted() | RunFailed() | RunCancelled():
                self.approvals = Approvals()
                self.questions, self.answers, self.responses = {}, {}, {}
            case _:
                self.approvals.apply(event)

    def _close(self, call_id: str) -> None:
        """Forget what a call asked, for it is settled; one that asked again counted its questions."""
        if self.approvals.settled or self.approvals.open:
            self.approvals.finish(call_id)
        if not (self.questions or self.answers or self.responses):
            return
        for entries in (self.questions, self.answers, self.responses):
            for name in [name for name in entries if name == call_id or name.startswith(f"{call_id}#")]:
                del entries[name]

    def has_question(self, call_id: str) -> bool:
        """Whether a call has asked somebody something."""
        return call_id in self.questions or call_id in self.answers or call_id in self.responses

    def _match_answer(self, body: Mapping[str, Any]) -> None:
        """Match an answer to its question; one that names none belongs to the oldest."""
        call_id = str(body.get("call_id") or next(iter(self.questions), ""))
        if call_id not in self.questions:
            return
        question = self.questions.pop(call_id)
        answers: Any = body.get("answers")
        if not isinstance(answers, dict):
            answers = dict.fromkeys(question.ids or ["answer"], body.get("answer", ""))
        self.answers[call_id] = {str(name): str(text) for name, text in cast("dict[Any, Any]", answers).items()}
