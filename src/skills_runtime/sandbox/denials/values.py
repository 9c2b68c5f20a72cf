"""What a fenced command left behind, what stopped it, and the least that would have let it go on: plain values."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from skills_runtime.sandbox.egress import EgressRecord

Certainty = Literal["proven", "suspected"]
"""Told by the kernel, the supervisor or the proxy; or read out of what the command wrote, which may say anything."""

What = Literal["write", "read", "network", "system_call", "limit", "program"]

LimitName = Literal[
    "memory_bytes", "processes", "cpu_seconds", "file_bytes", "open_files", "temporary_bytes", "shared_memory_bytes",
    "disk_bytes", "disk_files", "output_bytes",
]  # fmt: skip


class RaisedLimit(msgspec.Struct, frozen=True):
    """A limit of the policy, and the higher value it gets."""

    name: LimitName
    value: int


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy is widened by; equal grants are one, and each can be written as JSON."""

    writable: tuple[str, ...] = ()
    """Absolute paths of directories or files."""
    readable: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    """Each with its port, such as `example.com:443`."""
    limits: tuple[RaisedLimit, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.writable or self.readable or self.hosts or self.limits)

    def __str__(self) -> str:
        parts = [
            *(f"write to `{path}`" for path in self.writable),
            *(f"read `{path}`" for path in self.readable),
            *(f"reach `{host}`" for host in self.hosts),
            *(f"raise `{limit.name}` to {limit.value}" for limit in self.limits),
        ]
        return ", ".join(parts) or "nothing"


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
