"""Sub-agents that only leave files, so that a test sees what was asked of them."""

from collections.abc import Sequence
from pathlib import Path

from skills_runtime.errors import ToolError
from skills_runtime.ports import ChildStatus


class Brood:
    """The sub-agents of a tool's context: one file each below `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def spawn(self, message: str, *, call_id: str, agent_type: str = "") -> ChildStatus:
        """Leave a file with the task."""
        return self._leave("child_1", message)

    async def wait(self, ids: Sequence[str], *, timeout_ms: int | None = None) -> Sequence[ChildStatus]:
        """All of them are done."""
        return [ChildStatus(id=one, status="completed", final_output="done") for one in ids]

    async def send(self, child_id: str, message: str) -> ChildStatus:
        """Leave a file with the message."""
        return self._leave(child_id, message)

    async def resume(self, child_id: str) -> ChildStatus:
        """Leave a file that says so."""
        return self._leave(child_id, "resumed")

    async def close(self, child_id: str) -> ChildStatus:
        """Leave a file that says so."""
        return self._leave(child_id, "closed")

    def _leave(self, child_id: str, text: str) -> ChildStatus:
        if not child_id.isidentifier():
            raise ToolError("not_found", "there is no such agent")
        (self._root / f"{child_id}.agent").write_text(text, errors="replace")
        return ChildStatus(id=child_id, status="running")
