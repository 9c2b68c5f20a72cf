"""The fence around every process a run starts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

SandboxPermissions = Literal["inherit", "restricted", "require_escalated"]


class ProcessRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A command as a tool wants to run it, before the fence."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str] = {}
    """What the command gets besides the little every process needs."""
    permissions: SandboxPermissions = "inherit"
    terminal: bool = False


class SandboxPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The command inside the fence: what is really executed, and what that promises."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    """The whole environment."""
    evidence: Mapping[str, Any]
    """Goes into every result as `data.sandbox`."""


class Sandbox(Protocol):
    """Puts commands behind a fence, or refuses."""

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        """The command inside the fence; raises `SandboxError` when the isolation asked for cannot be given."""
        ...
