"""What is said to a run up to its end: the log tells of it, and only then is it acknowledged."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from skills_runtime.agent.receiving import SkillsOf, record
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.events.payloads import RunCompleted
from skills_runtime.ports import Inbox, InboxMessage
from skills_runtime.ports.people import ClosingInbox
from skills_runtime.runs import End, Run, finish_run, finish_run_async


class Hearing:
    """Records what is said to a run that is about to end, and acknowledges it once that is durable."""

    def __init__(self, run: Run, inbox: Inbox | None, skills_of: SkillsOf | None = None) -> None:
        self._run, self._inbox, self._skills_of = run, inbox, skills_of
        self._recorded: dict[str, int] = {}

    def listen(self) -> bool:
        """Record every message that waits; returns whether there was one that the run did not know."""
        return self._inbox is not None and self._take(waiting(self._run, self._inbox))

    def last_look(self, *, puts_off: bool) -> bool:
        """Record every message that waits, and take no more; a new one that `puts_off` the end leaves the inbox open.

        Returns whether the end is put off. One that is not has all in its log that was accepted: whoever comes between
        this and the terminal event is refused.
        """
        if self._inbox is None:
            return False
        known = self._run.state.inbox_position if puts_off else None
        return self._take(_closing(self._run, self._inbox, known)) and puts_off

    def _take(self, messages: Sequence[InboxMessage]) -> bool:
        known = self._run.state.inbox_position
        for message in messages:
            if message.id not in self._recorded:
                self._recorded[message.id] = record(self._run, message, self._skills_of)
        return self._run.state.inbox_position > known

    def acknowledge(self) -> None:
        """Tell the inbox which event holds each message."""
        if self._inbox is not None:
            with suppress(SkillsRuntimeError):
                for message_id, seq in self._recorded.items():
                    self._inbox.acknowledge(message_id, event_seq=seq)


def finish_heard(run: Run, inbox: Inbox | None, end: Callable[[], End]) -> None:
    """End a run for good with all that was said to it in its log; how it ends may follow from that."""
    hearing = Hearing(run, inbox)
    hearing.listen()
    finish_run(run, end(), last_look=lambda: hearing.last_look(puts_off=False))
    hearing.acknowledge()


async def finish_heard_async(run: Run, inbox: Inbox | None, end: End, skills_of: SkillsOf | None) -> bool:
    """End a run with all that was said to it in its log; one that is told more while it completes is not complete.

    Returns whether it has ended.
    """
    completes = isinstance(end, RunCompleted)
    hearing = Hearing(run, inbox, skills_of if completes else None)
    try:
        ended = await finish_run_async(run, end, goes_on=lambda: hearing.last_look(puts_off=completes))
    except asyncio.CancelledError:
        hearing.acknowledge()  # it has ended all the same
        raise
    if not ended:
        run.commit()
    hearing.acknowledge()
    return ended


def begin_to_hear(run: Run, inbox: Inbox | None) -> None:
    """Let people reach a run that is worked on again, as far as its inbox can be reached."""
    with suppress(SkillsRuntimeError):
        open_inbox(run, inbox)


def open_inbox(run: Run, inbox: Inbox | None) -> None:
    """Take messages again: whoever worked on an open run before may have died right before its end."""
    if inbox is not None and isinstance(inbox, ClosingInbox):
        inbox.open_for(run.state.run_id)


def _closing(run: Run, inbox: Inbox, known: int | None) -> Sequence[InboxMessage]:
    """What waits, as far as the inbox can be reached; one that cannot be closed is only looked into."""
    if isinstance(inbox, ClosingInbox):
        with suppress(SkillsRuntimeError):
            return inbox.close_for(run.state.run_id, unless_behind=known)
    return waiting(run, inbox)


def waiting(run: Run, inbox: Inbox) -> Sequence[InboxMessage]:
    """The messages that nobody has acknowledged, as far as the inbox can be reached."""
    try:
        return inbox.pending(run.state.run_id)
    except SkillsRuntimeError:
        return ()  # busy or out of reach just now: the messages stay where they are
