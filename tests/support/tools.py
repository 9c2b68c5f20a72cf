"""A user's own tree with a run beside it, and the context in which a tool is called there."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from skills_runtime.events import Payload
from skills_runtime.events.payloads import FileOperation
from skills_runtime.ports import Tool, ToolResult
from skills_runtime.runs.files import RunFiles, shared_policy
from skills_runtime.runs.files.policy import DeleteRule
from skills_runtime.runs.layout import SUBDIRECTORIES


class Workshop:
    """Calls tools on the files below `root`; it is the context they get."""

    call_id = "call_1"

    def __init__(self, place: Path, *, delete: DeleteRule = "disabled") -> None:
        self.root = place / "project"
        self.root.mkdir(parents=True)
        run = place / "run"
        for name in SUBDIRECTORIES:
            (run / name).mkdir(parents=True)
        self.records: list[FileOperation] = []
        self.emitted: list[Payload] = []
        policy = replace(shared_policy(self.root, run), delete=delete)
        self.files = RunFiles(policy, self.records.append, call_id=self.call_id)

    def emit(self, payload: Payload) -> None:
        """Record an event on behalf of the call."""
        self.emitted.append(payload)

    def write(self, name: str, data: bytes | str) -> Path:
        """Make a file, and the directories above it."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def contents(self) -> dict[str, bytes]:
        """Every file below the root, hidden ones too."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }

    async def call(self, tool: Tool, **arguments: Any) -> ToolResult:
        """Call a tool."""
        return await tool.invoke(arguments, self)


def data_of(result: ToolResult) -> Mapping[str, Any]:
    """The structured part of a result, which must be there."""
    assert result.data is not None
    return result.data
