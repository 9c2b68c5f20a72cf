"""What a fenced command left behind, what stopped it, and the least that would have let it go on: plain values."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from skills_runtime.ports import Grant, LimitName, RaisedLimit
from skills_runtime.sandbox.egress import EgressRecord

__all__ = ["Aftermath", "Certainty", "Denial", "Grant", "LimitName", "RaisedLimit", "Surroundings", "What"]

Certainty = Literal["proven", "suspected"]
"""Told by the kernel, the supervisor or the proxy; or read out of what the command wrote, which may say anything."""

What = Literal["write", "read", "network", "system_call", "limit", "program"]


class Denial(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the fence did not let happen."""

    certainty: Certainty
    what: What
    target: str
    """A path, `host:port`, the name of a limit, of a system call or of a program; empty when nobody said."""
    grant: Grant | None
    """The least that would help; nothing when no grant can open it."""
    sentence: str
    """For a person and for the model: what was stopped, and why there is no grant if there is none."""


class Aftermath(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a command that has ended."""

    cwd: Path
    argv: tuple[str, ...] = ()
    """As it was asked for, before the fence."""
    exit_code: int | None
    signal: int | None = None
    stdout: str = ""
    """The end of it is enough."""
    stderr: str = ""
    exceeded: str | None = None
    """The limit that its supervisor ended it for."""
    counted: Mapping[str, int] = {}
    """What the kernel counted for it."""
    decisions: tuple[EgressRecord, ...] = ()
    """What the proxy said to its requests."""

    @property
    def died_of(self) -> int | None:
        """The signal that ended it, also where only the fence's first process saw it and told by an exit code."""
        if self.signal is not None:
            return self.signal
        code = self.exit_code
        return code - 128 if code is not None and 128 < code < 128 + 65 else None

    @property
    def failed(self) -> bool:
        """Whether there is anything to explain."""
        return self.exit_code != 0


class Surroundings(Protocol):
    """What lies outside the fence, as far as somebody has to look to tell a denial from a mistake."""

    def exists(self, path: Path) -> bool:
        """Whether something has this name."""
        ...

    def program(self, name: str) -> Path | None:
        """Where the user would find a program of this name."""
        ...
