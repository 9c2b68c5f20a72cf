"""What is said to a run up to its end: the log tells of it, and only then is it acknowledged."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from skills_runtime.agent.receiving import SkillsOf, record
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.ports import Inbox, InboxMessage
from skills_runtime.runs import End, Run, finish_run


class Hearing:
    """Records what is said to a run that is about to end, and acknowledges it once that is durable."""

    def __init__(self, run: Run, inbox: Inbox | None, skills_of: SkillsOf | None = None) -> None:
        self._run, self._inbox, self._skills_of = run, inbox, skills_of
        self._recorded: dict[str, int] = {}

    def listen(self) -> bool:
        """Record every message that waits; returns whether there was one that the run did not know."""
        known = self._run.state.inbox_position
        for message in waiting(self._run, self._inbox) if self._inbox is not None else ():
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
    finish_run(run, end(), last_look=hearing.listen)
    hearing.acknowledge()


def waiting(run: Run, inbox: Inbox) -> Sequence[InboxMessage]:
    """The messages that nobody has acknowledged, as far as the inbox can be reached."""
    try:
        return inbox.pending(run.state.run_id)
    except SkillsRuntimeError:
        return ()  # busy or out of reach just now: the messages stay where they are
