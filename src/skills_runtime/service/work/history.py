"""What a session has said and done so far, as a new run of it is told."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from skills_runtime.agent import RunRequest
from skills_runtime.config.skill_models import PromptSettings
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import RunIndex
from skills_runtime.ledger.index import PAGE_LIMIT
from skills_runtime.projections import RunState
from skills_runtime.runs import LogPorts, RunPaths, read_view
from skills_runtime.runs.spec import SessionTask
from skills_runtime.skills.prompt.profile import choices_of


def with_session(request: RunRequest, index: RunIndex, prompt: PromptSettings, ports: LogPorts) -> RunRequest:
    """The request with what its session knows; a fork goes on from what its parent was told."""
    session_id = request.session_id
    if session_id is None:
        return request
    request = msgspec.structs.replace(request, earlier_tasks=_earlier_tasks(index, session_id))
    if request.fork is not None or choices_of(prompt).history == "none":
        return request
    told = _told(index, session_id, prompt, ports)[::-1]
    messages = tuple(message for state in told for message in _said(state))
    return msgspec.structs.replace(request, history=messages, history_runs=tuple(state.run_id for state in told))


def _told(index: RunIndex, session_id: str, prompt: PromptSettings, ports: LogPorts) -> list[RunState]:
    """The newest runs that fit, each whole or not at all, newest first."""
    room, chars = prompt.history.max_messages // 2, prompt.history.max_chars
    told: list[RunState] = []
    for state in _completed(index, session_id, ports):
        chars -= len(state.task) + len(state.final_output)
        if len(told) == room or chars < 0:
            break
        told.append(state)
    return told


def _completed(index: RunIndex, session_id: str, ports: LogPorts) -> Iterator[RunState]:
    for row in index.list(session_id=session_id, status=RunStatus.COMPLETED, limit=PAGE_LIMIT):
        try:
            state = read_view(RunPaths(Path(row.path)), ports).state
        except (SkillsRuntimeError, OSError):
            continue  # a run that cannot be read has nothing to say
        is_child = state.parent_run_id is not None and state.fork is None
        if state.status is RunStatus.COMPLETED and state.task and state.final_output and not is_child:
            yield state


def _said(state: RunState) -> tuple[dict[str, str], dict[str, str]]:
    return {"role": "user", "content": state.task}, {"role": "assistant", "content": state.final_output}


def _earlier_tasks(index: RunIndex, session_id: str) -> tuple[SessionTask, ...]:
    tasks: dict[str, list[str]] = {}
    for row in reversed(index.list(session_id=session_id, limit=PAGE_LIMIT)):
        tasks.setdefault(row.task_id, []).append(row.run_id)
    return tuple(SessionTask(task_id, runs) for task_id, runs in tasks.items())
