"""Sub-agents: runs that a run begins, waits for and stops."""

from collections.abc import Sequence
from typing import Protocol

import msgspec


class ChildStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a run that was begun by another stands."""

    id: str
    status: str
    """`running`, `completed`, `failed`, `cancelled` or `waiting_human`."""
    final_output: str | None = None
    error_kind: str | None = None
    profile_id: str = ""


class Children(Protocol):
    """The runs that one run has begun."""

    async def spawn(self, message: str, *, call_id: str, agent_type: str = "") -> ChildStatus:
        """Begin a run with this task; the same call begins one only once."""
        ...

    async def wait(self, ids: Sequence[str], *, timeout_ms: int | None = None) -> Sequence[ChildStatus]:
        """Where they stand once all have ended or wait for somebody, or the time is over."""
        ...

    async def send(self, child_id: str, message: str) -> ChildStatus:
        """Tell a run something it takes in at its next turn."""
        ...

    async def resume(self, child_id: str) -> ChildStatus:
        """Go on with a run that stopped before its end."""
        ...

    async def close(self, child_id: str) -> ChildStatus:
        """Stop a run; returns when it is gone."""
        ...
