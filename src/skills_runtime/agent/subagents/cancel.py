"""Sub-agents end with the run that began them, also those that nobody works on just then."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from skills_runtime.agent.loop.inbox import finish_run_and_inbox
from skills_runtime.errors import LogEnded, LogLocked, SkillsRuntimeError
from skills_runtime.events.payloads import RunCancelled
from skills_runtime.events.states import RunStatus
from skills_runtime.ports import Inbox
from skills_runtime.ports.people import InboxClosed
from skills_runtime.runs import End, Run, RunPaths, read_view
from skills_runtime.runs.run import opened


def finish_tree(run: Run, inbox: Inbox | None, end: Callable[[], End]) -> None:
    """End a run that no loop works on, and before it all that it began: who dies between the two can do it again."""
    cancel_children(run, inbox)
    finish_run_and_inbox(run, inbox, end)


def cancel_children(run: Run, inbox: Inbox | None) -> None:
    """End all that the sub-agents of a run still wait for; one whose log cannot be used does not keep the run."""
    for child in run.state.children.values():
        root = Path(child.root)
        if RunStatus(child.status).terminal or not root.exists():
            continue
        with suppress(SkillsRuntimeError, OSError):
            cancel_child(root, run, "the run that began it has ended", inbox)


def cancel_child(root: Path, parent: Run, reason: str, inbox: Inbox | None) -> None:
    """End a sub-agent and those below it; whoever works on it elsewhere is told to."""
    if read_view(RunPaths(root), parent.ports).state.parent_run_id != parent.state.run_id:
        return  # another run, which a log from elsewhere names
    try:
        with opened(root, parent.ports) as child:
            cancelled = RunCancelled(message=reason, wal_locator=str(child.paths.events))
            finish_tree(child, inbox, lambda: cancelled)
    except LogLocked:
        if inbox is not None:
            with suppress(InboxClosed):  # it ends by itself just now
                inbox.send(root.name, "cancel", {"reason": reason}, idempotency_key="ended-from-above")
    except LogEnded:
        return
