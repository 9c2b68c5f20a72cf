"""Sessions that exist before their first run: a title, and their skill directories."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from skills_runtime.agent import RunRequest
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.config import PromptSettings
from skills_runtime.engine.workspace import Workspace
from skills_runtime.errors import NotFound, SkillsRuntimeError, StorageFailed, ValidationFailed
from skills_runtime.events import RunStatus
from skills_runtime.ledger import PAGE_LIMIT, RunIndex, RunRow, SessionRow, is_gone
from skills_runtime.projections import RunState
from skills_runtime.runs import DIRECTORY_MODE, STATE_DIRECTORY, LogPorts, RunPaths, SessionTask, check_id, read_view
from skills_runtime.skills import resolve_prompt_choices
from skills_runtime.storage import create_directories, write_atomic

FILE = "session.json"
MAX_SOURCES = 32
MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 3500
"""Leaves enough of the path limit for a skill inside."""
_PAIR = 2
"""Messages per run: the task and the answer."""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a session besides its runs."""

    session_id: str
    title: str = ""
    created_at: str = ""
    filesystem_sources: tuple[str, ...] = ()
    is_deleted: bool = False
    """Hidden from lists; its runs are kept."""


class Sessions:
    """The sessions of one workspace."""

    def __init__(self, workspace: Workspace, index: RunIndex) -> None:
        self._root = workspace.workspace_root
        self._workspace = workspace
        self._index = index

    @property
    def default_skills_directory(self) -> Path:
        """Return the directory for skills written in a session, unless it has others."""
        return self._root / STATE_DIRECTORY / "skills"

    def create(self, title: str, sources: Sequence[str] | None) -> Session:
        """Create a session; without directories it uses the default one for skills written here."""
        if sources is None:
            create_directories(self.default_skills_directory, mode=DIRECTORY_MODE)
        session = Session(
            session_id=RandomIds().new("sess"),
            title=title,
            created_at=SystemClock().now(),
            filesystem_sources=(str(self.default_skills_directory),)
            if sources is None
            else self._validate_sources(sources),
        )
        self._write(session)
        return session

    def get(self, session_id: str) -> Session:
        """Return a session that was created here or by a run."""
        session = self._read(session_id)
        if session is not None and not session.is_deleted:
            return session
        rows = self._index.list(session_id=session_id, limit=PAGE_LIMIT) if session is None else ()
        mine = [row for row in rows if self._workspace.has(row)]
        if not mine:
            raise NotFound("session not found", details={"session_id": session_id}, resource="session", name=session_id)
        return Session(session_id=session_id, title=mine[-1].title, created_at=mine[-1].created_at)

    def use(self, session_id: str, sources: Sequence[str]) -> Session:
        """Set the skill directories of a session."""
        session = msgspec.structs.replace(self.get(session_id), filesystem_sources=self._validate_sources(sources))
        self._write(session)
        return session

    def delete(self, session_id: str) -> None:
        """Hide a session; its runs are never deleted."""
        self._write(msgspec.structs.replace(self.get(session_id), is_deleted=True))

    def all(self) -> list[tuple[Session, SessionRow | None]]:
        """Return all sessions, the last changed first."""
        rows = {row.session_id: row for row in self._index.sessions(limit=PAGE_LIMIT) if self._is_mine(row)}
        stored = {session.session_id: session for session in self._read_all()}
        sessions = [
            (stored.get(name) or Session(session_id=name, title=rows[name].title), rows.get(name))
            for name in {**rows, **stored}
        ]
        visible = [(session, row) for session, row in sessions if not session.is_deleted]
        return sorted(visible, key=lambda pair: pair[1].updated_at if pair[1] else pair[0].created_at, reverse=True)

    def _is_mine(self, row: SessionRow) -> bool:
        return any(map(self._workspace.has, self._index.list(session_id=row.session_id, limit=1)))

    def _read_all(self) -> list[Session]:
        directory = self._root / STATE_DIRECTORY / "sessions"
        names = sorted(path.parent.name for path in directory.glob(f"*/{FILE}")) if directory.is_dir() else []
        return [session for name in names if (session := self._read(name)) is not None]

    def _path(self, session_id: str) -> Path:
        return self._root / STATE_DIRECTORY / "sessions" / check_id(session_id, "session") / FILE

    def _read(self, session_id: str) -> Session | None:
        try:
            return msgspec.json.decode(self._path(session_id).read_bytes(), type=Session)
        except (OSError, msgspec.MsgspecError):
            return None

    def _write(self, session: Session) -> None:
        path = self._path(session.session_id)
        try:
            create_directories(path.parent, mode=DIRECTORY_MODE)
            write_atomic(path, msgspec.json.encode(session))
        except OSError as error:
            raise StorageFailed(f"`{path}` could not be written: {error.strerror}") from error

    def _validate_sources(self, sources: Sequence[str]) -> tuple[str, ...]:
        """Return the directories without duplicates; a service accepts only those in the workspace."""
        if len(sources) > MAX_SOURCES:
            raise ValidationFailed(f"a session may use at most {MAX_SOURCES} directories")
        return tuple(dict.fromkeys(self._resolve_inside(text.strip()) for text in sources if text.strip()))

    def _resolve_inside(self, text: str) -> str:
        top = os.path.realpath(self._root)
        fits = text.isprintable() and all(len(os.fsencode(name)) <= MAX_NAME_BYTES for name in text.split("/"))
        real = os.path.realpath(os.path.join(top, text)) if fits else ""
        if (
            not real
            or len(os.fsencode(real)) > MAX_PATH_BYTES
            or (real != top and not real.startswith(f"{top}{os.sep}"))
        ):
            raise ValidationFailed(
                f"{text[:200]!a} is not a directory of this workspace", hint="name a directory inside the workspace"
            )
        return real


class History(NamedTuple):
    """Messages, oldest first, their runs, and notices for the user."""

    messages: tuple[dict[str, str], ...] = ()
    runs: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def add_session_history(
    request: RunRequest, index: RunIndex, prompt: PromptSettings, ports: LogPorts
) -> tuple[RunRequest, tuple[str, ...]]:
    """Add the earlier messages of the session to a request, with notices; a fork continues its parent's history."""
    session_id = request.session_id
    if session_id is None:
        return request, ()
    request = msgspec.structs.replace(request, earlier_tasks=_earlier_tasks(index, session_id))
    if request.fork is not None:
        return request, ()
    history = load_history(index, session_id, prompt, ports)
    return msgspec.structs.replace(request, history=history.messages, history_runs=history.runs), history.notices


def _earlier_tasks(index: RunIndex, session_id: str) -> tuple[SessionTask, ...]:
    tasks: dict[str, list[str]] = {}
    for row in reversed(index.list(session_id=session_id, limit=PAGE_LIMIT)):
        tasks.setdefault(row.task_id, []).append(row.run_id)
    return tuple(SessionTask(task_id, runs) for task_id, runs in tasks.items())


def load_history(index: RunIndex, session_id: str, prompt: PromptSettings, ports: LogPorts) -> History:
    """Return as much of a session as the settings allow in a prompt: the newest runs, each complete or not at all."""
    if resolve_prompt_choices(prompt).history == "none":
        return History()
    max_runs, chars = prompt.history.max_messages // _PAIR, prompt.history.max_chars
    states: list[RunState] = []
    notices: list[str] = []
    for row in index.list(session_id=session_id, status=RunStatus.COMPLETED, limit=PAGE_LIMIT):
        if len(states) == max_runs:
            break
        if is_gone(Path(row.path)):
            continue
        state = _read(row, ports)
        if state is None:
            notices.append(f"the run `{row.run_id}` of this session cannot be read and is left out of its history")
        elif _belongs_to_history(state):
            chars -= len(state.task) + len(state.final_output)
            if chars < 0:
                break
            states.append(state)
    oldest_first = states[::-1]
    messages = tuple(message for state in oldest_first for message in _messages_of(state))
    return History(messages, tuple(state.run_id for state in oldest_first), tuple(notices))


def _read(row: RunRow, ports: LogPorts) -> RunState | None:
    """Read the state of a run from its verified log instead of the index."""
    try:
        return read_view(RunPaths(Path(row.path)), ports).state
    except (SkillsRuntimeError, OSError):
        return None


def _belongs_to_history(state: RunState) -> bool:
    """Return whether a run is part of the conversation: completed, and not a sub-agent."""
    child = state.parent_run_id is not None and state.fork is None
    return state.status is RunStatus.COMPLETED and bool(state.task and state.final_output) and not child


def _messages_of(state: RunState) -> tuple[dict[str, str], dict[str, str]]:
    return {"role": "user", "content": state.task}, {"role": "assistant", "content": state.final_output}
