"""Sub-agents end with the run that began them, also those that nobody works on just then."""

from contextlib import suppress
from pathlib import Path

from skills_runtime.agent.hearing import finish_heard
from skills_runtime.errors import LogEnded, LogLocked, SkillsRuntimeError
from skills_runtime.events.payloads import RunCancelled
from skills_runtime.events.states import RunStatus
from skills_runtime.ports import Inbox
from skills_runtime.ports.people import InboxClosed
from skills_runtime.runs import LogPorts, Run
from skills_runtime.runs.run import opened


def end_below(run: Run, inbox: Inbox | None) -> None:
    """End all that the sub-agents of a run still wait for; one whose log cannot be used does not keep the run."""
    for child in run.state.children.values():
        root = Path(child.root)
        if RunStatus(child.status).terminal or not root.exists():
            continue
        with suppress(SkillsRuntimeError, OSError):
            end_child(root, "the run that began it has ended", inbox, run.ports)


def end_child(root: Path, reason: str, inbox: Inbox | None, ports: LogPorts) -> None:
    """End a sub-agent and those below it; whoever works on it elsewhere is told to."""
    try:
        with opened(root, ports) as child:
            end_below(child, inbox)
            cancelled = RunCancelled(message=reason, wal_locator=str(child.paths.events))
            finish_heard(child, inbox, lambda: cancelled)
    except LogLocked:
        if inbox is not None:
            with suppress(InboxClosed):  # it ends by itself just now
                inbox.send(root.name, "cancel", {"reason": reason}, idempotency_key="ended-from-above")
    except LogEnded:
        return
