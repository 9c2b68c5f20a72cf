"""Messages to a run: each becomes one event, in order, and is acknowledged only after that is durable.

The log determines what a message means. An unreachable inbox is not an error: its messages stay in it.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from skills_runtime.agent.loop.ports import AgentPorts, SkillsOf
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.events import InboxReceived, RunCompleted
from skills_runtime.ports import ClosingInbox, Inbox, InboxMessage
from skills_runtime.runs import End, Run, finish_run, finish_run_async
from skills_runtime.safety.approvals import refuse_stale_decisions


def open_inbox(run: Run, inbox: Inbox | None) -> None:
    """Accept messages again: an earlier process may have closed the inbox and died before the run ended."""
    if inbox is not None and isinstance(inbox, ClosingInbox):
        inbox.open_for(run.state.run_id)


async def receive_messages(run: Run, ports: AgentPorts) -> None:
    """Record every pending message, and refuse stale approval decisions."""
    if (inbox := ports.inbox) is not None:
        for message in _pending(run, inbox):
            seq = _record_message(run, message, ports.skills_of)
            await run.commit_async()
            try:
                inbox.acknowledge(message.id, event_seq=seq)
            except SkillsRuntimeError:
                break  # it will be pending again at the next turn, and is recorded by then
    approvals = run.view.pending.approvals
    refusals = refuse_stale_decisions(approvals, run.state.run_id) if approvals.sent else ()
    # Includes decisions whose request was settled after they arrived.
    for refused in refusals:
        run.append(refused)
    if refusals:
        await run.commit_async()


def finish_run_and_inbox(run: Run, inbox: Inbox | None, end: Callable[[], End]) -> None:
    """End a run with all pending messages in its log; `end` may depend on them."""
    drain = InboxDrain(run, inbox)
    drain.record_pending()
    finish_run(run, end(), before_end=lambda: drain.close(can_postpone=False))
    drain.acknowledge()


async def finish_run_and_inbox_async(run: Run, inbox: Inbox | None, end: End, skills_of: SkillsOf | None) -> bool:
    """End a run with all pending messages in its log; return whether it has ended.

    A new message keeps a run from completing.
    """
    completes = isinstance(end, RunCompleted)
    drain = InboxDrain(run, inbox, skills_of if completes else None)
    try:
        has_ended = await finish_run_async(run, end, should_continue=lambda: drain.close(can_postpone=completes))
    except asyncio.CancelledError:
        drain.acknowledge()  # the run has ended nevertheless
        raise
    if not has_ended:
        run.commit()
    drain.acknowledge()
    return has_ended


class InboxDrain:
    """Drain the inbox of a finishing run: record each message as an event, commit, then acknowledge it."""

    def __init__(self, run: Run, inbox: Inbox | None, skills_of: SkillsOf | None = None) -> None:
        self._run, self._inbox, self._skills_of = run, inbox, skills_of
        self._recorded: dict[str, int] = {}

    def record_pending(self) -> None:
        """Record every pending message; the inbox stays open."""
        if self._inbox is not None:
            self._record(_pending(self._run, self._inbox))

    def close(self, *, can_postpone: bool) -> bool:
        """Record every pending message and close the inbox; return whether a new message postpones the end.

        With `can_postpone` a new message leaves the inbox open and the run continues. Otherwise the log holds every
        accepted message, and later ones are refused.
        """
        if self._inbox is None:
            return False
        last_position = self._run.state.inbox_position
        self._record(self._close(self._inbox, unless_behind=last_position if can_postpone else None))
        return can_postpone and self._run.state.inbox_position > last_position

    def _close(self, inbox: Inbox, *, unless_behind: int | None) -> Sequence[InboxMessage]:
        if isinstance(inbox, ClosingInbox):
            with suppress(SkillsRuntimeError):
                return inbox.close_for(self._run.state.run_id, unless_behind=unless_behind)
        return _pending(self._run, inbox)

    def _record(self, messages: Sequence[InboxMessage]) -> None:
        for message in messages:
            if message.id not in self._recorded:
                self._recorded[message.id] = _record_message(self._run, message, self._skills_of)

    def acknowledge(self) -> None:
        """Acknowledge each recorded message with the number of its event."""
        if self._inbox is not None:
            with suppress(SkillsRuntimeError):
                for message_id, seq in self._recorded.items():
                    self._inbox.acknowledge(message_id, event_seq=seq)


def _pending(run: Run, inbox: Inbox) -> Sequence[InboxMessage]:
    try:
        return inbox.pending(run.state.run_id)
    except SkillsRuntimeError:
        return ()  # busy or unreachable: the messages stay in the inbox


def _record_message(run: Run, message: InboxMessage, skills_of: SkillsOf | None) -> int:
    """Append the event of a message unless it is recorded already; return its sequence number.

    Its skill events come first: after a crash in between, the message is received again with all of them.
    """
    if message.position > run.state.inbox_position:
        for payload in skills_of(message) if skills_of is not None else ():
            run.append(payload)
        body = dict(message.body)
        if message.kind == "approve" and isinstance(body.get("arguments"), dict):
            # Edited arguments are stored as a blob, like all arguments.
            body["arguments_blob"] = run.put_blob(msgspec.json.encode(body.pop("arguments")))
        run.append(
            InboxReceived(
                message_id=message.id,
                position=message.position,
                kind=message.kind,
                body=body,
                sent_at=message.created_at,
            )
        )
    return run.state.inbox_seq
