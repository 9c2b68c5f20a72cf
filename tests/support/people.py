"""People who answer at once, and inboxes that misbehave."""

from collections.abc import Mapping, Sequence
from typing import Any

from skills_runtime.errors import LogLocked
from skills_runtime.ports import Inbox, InboxKind, InboxMessage, Question


class Person:
    """Gives the prepared answers in order, the last one again and again, and remembers what was asked."""

    def __init__(self, *answers: str) -> None:
        self.asked: list[Question] = []
        self._answers = answers

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        """Answer."""
        self.asked.append(question)
        return self._answers[min(len(self.asked), len(self._answers)) - 1]


class Flaky:
    """An inbox whose operations fail as often as they are told to, as a busy file does."""

    def __init__(self, inbox: Inbox, *, pending: int = 0, acknowledge: int = 0) -> None:
        self._inbox = inbox
        self._left = {"pending": pending, "acknowledge": acknowledge}

    def send(
        self, run_id: str, kind: InboxKind, body: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> InboxMessage:
        """Store a message."""
        return self._inbox.send(run_id, kind, body, idempotency_key=idempotency_key)

    def pending(self, run_id: str) -> Sequence[InboxMessage]:
        """Messages not acknowledged yet, unless it fails."""
        self._fail("pending")
        return self._inbox.pending(run_id)

    def acknowledge(self, message_id: str, *, event_seq: int) -> None:
        """Note that the run's log holds the message, unless it fails."""
        self._fail("acknowledge")
        self._inbox.acknowledge(message_id, event_seq=event_seq)

    def _fail(self, operation: str) -> None:
        if self._left[operation]:
            self._left[operation] -= 1
            raise LogLocked("the ledger is busy")
