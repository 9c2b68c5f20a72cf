"""What a run waits for: unanswered approvals and questions."""

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
"""The payloads this projection reads."""


CONTEXT_RECOVERY = "context-recovery"
"""Prefix of the ids of questions about a full context, followed by `#` and a number: they belong to no call."""


class PendingQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question that waits for an answer."""

    call_id: str
    question: str
    choices: list[str]
    seq: int
    since: str
    ids: list[str] = []
    """The ids of its parts, if there are several."""


class Pending(msgspec.Struct):
    """Everything open, oldest first."""

    approvals: Approvals = msgspec.field(default_factory=Approvals)
    questions: dict[str, PendingQuestion] = {}
    answers: dict[str, dict[str, str]] = {}
    """Answers that were sent and not read yet, by call."""
    responses: dict[str, dict[str, str]] = {}
    """Answers that the run has read, by call, until the call is finished."""
    cancelled: str = ""
    """Why the run should be cancelled."""

    def apply(self, event: Event) -> None:
        """Apply the next event."""
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
        """Remove the questions of a finished call; a call that asked again numbered its questions."""
        if self.approvals.settled or self.approvals.open:
            self.approvals.finish(call_id)
        if not (self.questions or self.answers or self.responses):
            return
        for entries in (self.questions, self.answers, self.responses):
            for name in [name for name in entries if name == call_id or name.startswith(f"{call_id}#")]:
                del entries[name]

    def has_question(self, call_id: str) -> bool:
        """Return whether a call has an open question."""
        return call_id in self.questions or call_id in self.answers or call_id in self.responses

    def _match_answer(self, body: Mapping[str, Any]) -> None:
        """Match an answer to its question; one without a name belongs to the oldest."""
        call_id = str(body.get("call_id") or next(iter(self.questions), ""))
        if call_id not in self.questions:
            return
        question = self.questions.pop(call_id)
        answers: Any = body.get("answers")
        if not isinstance(answers, dict):
            answers = dict.fromkeys(question.ids or ["answer"], body.get("answer", ""))
        self.answers[call_id] = {str(name): str(text) for name, text in cast("dict[Any, Any]", answers).items()}
