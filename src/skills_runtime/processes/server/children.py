"""What the server asks of whoever runs its child agents."""

from collections.abc import Sequence
from typing import Protocol

from skills_runtime.errors import ConfigError
from skills_runtime.ports import Children, ChildStatus


class ServedChildren(Children, Protocol):
    """Child agents that are real runs, and outlive the client that began them."""

    @property
    def active(self) -> int:
        """How many are worked on now."""
        ...

    def list(self) -> Sequence[ChildStatus]:
        """Every child of this workspace, also of servers before this one."""
        ...

    async def cancel_all(self) -> int:
        """End those that are worked on, and return how many that were when they are gone."""
        ...

    async def aclose(self) -> None:
        """Stop the work on all of them; they can be resumed."""
        ...


class NoChildren:
    """For a server that only has sessions."""

    @property
    def active(self) -> int:
        """None."""
        return 0

    def list(self) -> Sequence[ChildStatus]:
        """None."""
        return ()

    async def cancel_all(self) -> int:
        """Nothing to do."""
        return 0

    async def aclose(self) -> None:
        """Nothing to do."""

    async def spawn(self, message: str, *, call_id: str, agent_type: str = "") -> ChildStatus:
        """Refuse."""
        raise _refusal()

    async def wait(self, ids: Sequence[str], *, timeout_ms: int | None = None) -> Sequence[ChildStatus]:
        """Refuse."""
        raise _refusal()

    async def send(self, child_id: str, message: str) -> ChildStatus:
        """Refuse."""
        raise _refusal()

    async def resume(self, child_id: str) -> ChildStatus:
        """Refuse."""
        raise _refusal()

    async def close(self, child_id: str) -> ChildStatus:
        """Refuse."""
        raise _refusal()


def _refusal() -> ConfigError:
    return ConfigError("this server has no child agents", hint="start it with `skills-runtime`")
