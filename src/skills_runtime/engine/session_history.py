"""What was said in a session before: each completed run is a task and an answer."""

from pathlib import Path
from typing import NamedTuple

import msgspec

from skills_runtime.agent import RunRequest
from skills_runtime.config.skill_models import PromptSettings
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import RunIndex, RunRow
from skills_runtime.ledger.index import PAGE_LIMIT, is_gone
from skills_runtime.projections import RunState
from skills_runtime.runs import LogPorts, RunPaths, read_view
from skills_runtime.runs.spec import SessionTask
from skills_runtime.skills.prompt.profile import choices_of

_PAIR = 2
"""Messages of one run: the task and the answer."""


class History(NamedTuple):
    """Messages, oldest first, the runs they are of, and what the user should know about it."""

    messages: tuple[dict[str, str], ...] = ()
    runs: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def with_session(
    request: RunRequest, index: RunIndex, prompt: PromptSettings, ports: LogPorts
) -> tuple[RunRequest, tuple[str, ...]]:
    """The request with what its session did and said before, and notices; a fork goes on from what its parent knew."""
    session_id = request.session_id
    if session_id is None:
        return request, ()
    request = msgspec.structs.replace(request, earlier_tasks=_earlier_tasks(index, session_id))
    if request.fork is not None:
        return request, ()
    history = history_of(index, session_id, prompt, ports)
    return msgspec.structs.replace(request, history=history.messages, history_runs=history.runs), history.notices


def _earlier_tasks(index: RunIndex, session_id: str) -> tuple[SessionTask, ...]:
    tasks: dict[str, list[str]] = {}
    for row in reversed(index.list(session_id=session_id, limit=PAGE_LIMIT)):
        tasks.setdefault(row.task_id, []).append(row.run_id)
    return tuple(SessionTask(task_id, runs) for task_id, runs in tasks.items())


def history_of(index: RunIndex, session_id: str, prompt: PromptSettings, ports: LogPorts) -> History:
    """As much of a session as the settings let into a prompt: the newest runs, each whole or not at all."""
    if choices_of(prompt).history == "none":
        return History()
    room, chars = prompt.history.max_messages // _PAIR, prompt.history.max_chars
    states: list[RunState] = []
    notices: list[str] = []
    for row in index.list(session_id=session_id, status=RunStatus.COMPLETED, limit=PAGE_LIMIT):
        if len(states) == room:
            break
        if is_gone(Path(row.path)):
            continue
        state = _read(row, ports)
        if state is None:
            notices.append(f"the run `{row.run_id}` of this session cannot be read and is left out of its history")
        elif _speaks(state):
            chars -= len(state.task) + len(state.final_output)
            if chars < 0:
                break
            states.append(state)
    oldest_first = states[::-1]
    messages = tuple(message for state in oldest_first for message in _said(state))
    return History(messages, tuple(state.run_id for state in oldest_first), tuple(notices))


def _read(row: RunRow, ports: LogPorts) -> RunState | None:
    """Where the run stands by its own verified log, whatever the index says."""
    try:
        return read_view(RunPaths(Path(row.path)), ports).state
    except (SkillsRuntimeError, OSError):
        return None


def _speaks(state: RunState) -> bool:
    """Whether a run is part of the talk: done, and not a sub-agent of another run."""
    child = state.parent_run_id is not None and state.fork is None
    return state.status is RunStatus.COMPLETED and bool(state.task and state.final_output) and not child


def _said(state: RunState) -> tuple[dict[str, str], dict[str, str]]:
    return {"role": "user", "content": state.task}, {"role": "assistant", "content": state.final_output}
