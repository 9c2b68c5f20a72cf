"""Taking in messages: each becomes one event, in order, and only then is acknowledged."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.events.payloads import InboxReceived
from skills_runtime.ports import Inbox, InboxMessage
from skills_runtime.runs import Run
from skills_runtime.safety.approvals import stray_decisions


async def take_in(run: Run, inbox: Inbox | None) -> None:
    """Record every message that waits; what they mean is read off the log."""
    if inbox is None:
        return
    for message in _waiting(run, inbox):
        seq = _record(run, message)
        for refused in stray_decisions(run.view.pending.approvals, run.state.run_id):
            run.append(refused)
        await run.commit_async()
        try:
            inbox.acknowledge(message.id, event_seq=seq)
        except SkillsRuntimeError:
            return  # asked for again at the next turn, and known by then


def record_all(run: Run, inbox: Inbox | None) -> Callable[[], None]:
    """Record every message that waits, and return what acknowledges them once that is durable."""
    if inbox is None:
        return lambda: None
    recorded = [(message.id, _record(run, message)) for message in _waiting(run, inbox)]

    def acknowledge() -> None:
        with suppress(SkillsRuntimeError):
            for message_id, seq in recorded:
                inbox.acknowledge(message_id, event_seq=seq)

    return acknowledge


def _waiting(run: Run, inbox: Inbox) -> Sequence[InboxMessage]:
    try:
        return inbox.pending(run.state.run_id)
    except SkillsRuntimeError:
        return ()  # busy or out of reach just now: the messages stay where they are


def _record(run: Run, message: InboxMessage) -> int:
    """The event that holds a message; one that is there already was the last before its process died."""
    if message.position > run.state.inbox_position:
        run.append(
            InboxReceived(
                message_id=message.id,
                position=message.position,
                kind=message.kind,
                body=dict(message.body),
                sent_at=message.created_at,
            )
        )
    return run.state.inbox_seq
