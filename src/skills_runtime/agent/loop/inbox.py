"""Taking in messages: each becomes one event, in order, and only then is acknowledged."""

from typing import TYPE_CHECKING

from skills_runtime.agent.hearing import waiting
from skills_runtime.agent.receiving import record
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.ports import Inbox
from skills_runtime.runs import Run
from skills_runtime.safety.approvals import stray_decisions

if TYPE_CHECKING:
    from skills_runtime.agent.loop.ports import AgentPorts


async def take_in(run: Run, ports: "AgentPorts") -> None:
    """Record every message that waits; what they mean is read off the log."""
    if ports.inbox is not None:
        await _record_waiting(run, ports.inbox, ports)
    await _refuse_strays(run)


async def _record_waiting(run: Run, inbox: Inbox, ports: "AgentPorts") -> None:
    for message in waiting(run, inbox):
        seq = record(run, message, ports.skills_of)
        await run.commit_async()
        try:
            inbox.acknowledge(message.id, event_seq=seq)
        except SkillsRuntimeError:
            return  # asked for again at the next turn, and known by then


async def _refuse_strays(run: Run) -> None:
    """Record every decision that counts for nothing, also one whose request was settled since it came."""
    approvals = run.view.pending.approvals
    strays = stray_decisions(approvals, run.state.run_id) if approvals.sent else ()
    for refused in strays:
        run.append(refused)
    if strays:
        await run.commit_async()
