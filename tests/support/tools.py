"""A workspace with a run beside it, the context of a tool call there, and directories compared as values."""

import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from skills_runtime.errors import ToolError
from skills_runtime.events import Payload
from skills_runtime.events.payloads import FileOperation
from skills_runtime.ports import Closeable, Question, Sandbox, Tool, ToolResult
from skills_runtime.ports.tools import Children, Parked
from skills_runtime.runs.files import RunFiles, shared_policy
from skills_runtime.runs.files.paths import DeleteRule
from skills_runtime.runs.layout import SUBDIRECTORIES
from skills_runtime.safety.redaction import SecretRegistry
from skills_runtime.sandbox import NoSandbox
from skills_runtime.tools.invoke import error_result

PATH = "/usr/local/bin:/usr/bin:/bin"

Held = TypeVar("Held", bound=Closeable)


class Holding:
    """The resources of a run, until it is closed."""

    def __init__(self) -> None:
        self._held: dict[type[Any], Any] = {}

    def hold(self, kind: type[Held], make: Callable[[], Held]) -> Held:
        """Return the resource of this type."""
        if kind not in self._held:
            self._held[kind] = make()
        return self._held[kind]

    async def aclose(self) -> None:
        """Close everything."""
        while self._held:
            await self._held.popitem()[1].aclose()


class Workshop:
    """Calls tools on the files below `root`; it is the context they get."""

    run_id = "run_1"
    call_id = "call_1"
    idempotency_key = "0" * 32

    def __init__(
        self,
        directory: Path,
        *,
        delete: DeleteRule = "disabled",
        sandbox: Sandbox | None = None,
        answers: Mapping[str, str] | None = None,
        children: Children | None = None,
    ) -> None:
        self.root = directory / "project"
        self.root.mkdir(parents=True)
        run = directory / "run"
        for name in SUBDIRECTORIES:
            (run / name).mkdir(parents=True)
        self.records: list[FileOperation] = []
        self.emitted: list[Payload] = []
        self.blobs: dict[str, bytes] = {}
        self.asked: list[Question] = []
        self.answers = answers
        self.wanted_hosts: list[str] = []
        self.may_be_reached: set[str] = set()
        self.children = children
        self.scope = Holding()
        self.secrets = SecretRegistry()
        self.sandbox = sandbox or NoSandbox({"PATH": PATH, "HOME": str(directory)})
        policy = replace(shared_policy(self.root, run), delete=delete)
        self.files = RunFiles(policy, self.records.append, call_id=self.call_id)

    def emit(self, payload: Payload) -> None:
        """Record an event on behalf of the call."""
        self.emitted.append(payload)

    def keep(self, data: bytes) -> str:
        """Store bytes by their digest."""
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return digest

    async def ask(self, *questions: Question) -> Mapping[str, str]:
        """Return the test's prepared answers; without any, no user can be asked."""
        self.asked += questions
        if self.answers is None:
            raise Parked
        return {question.id: self.answers[question.id] for question in questions}

    async def confirm(self) -> None:
        """Accept: nothing was approved, so nothing can differ."""

    async def may_reach(self, host: str, port: int) -> bool:
        """Return whether the test has allowed the host."""
        self.wanted_hosts.append(f"{host}:{port}")
        return f"{host}:{port}" in self.may_be_reached

    def write(self, name: str, data: bytes | str) -> Path:
        """Write a file, and create its parent directories."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def contents(self) -> dict[str, bytes]:
        """Return the content of every file below the root, hidden ones too."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }

    async def call(self, tool: Tool, **arguments: Any) -> ToolResult:
        """Call a tool."""
        return await tool.invoke(arguments, self)

    async def answer(self, tool: Tool, **arguments: Any) -> ToolResult:
        """Call a tool as the loop does: a refusal becomes a result too."""
        try:
            return await tool.invoke(arguments, self)
        except ToolError as error:
            return error_result(error)


def data_of(result: ToolResult) -> Mapping[str, Any]:
    """Return the structured part of a result; fail without one."""
    assert result.data is not None
    return result.data


class Entry(NamedTuple):
    """One name in a tree; the content is empty for directories."""

    mode: int
    content: bytes


def tree(root: Path) -> dict[str, Entry]:
    """Return every path below a directory, with its mode and its content or link target."""
    return {str(path.relative_to(root)): _entry(path) for path in sorted(root.rglob("*"))}


def modes(root: Path) -> dict[str, int]:
    """Return the mode of every path below a directory, and of the directory itself as `.`."""
    return {".": stat.S_IMODE(root.stat().st_mode)} | {
        name: stat.S_IMODE(entry.mode) for name, entry in tree(root).items()
    }


def _entry(path: Path) -> Entry:
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode):
        return Entry(info.st_mode, os.fsencode(path.readlink()))
    return Entry(info.st_mode, path.read_bytes() if stat.S_ISREG(info.st_mode) else b"")
