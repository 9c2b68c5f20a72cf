"""What every kind of fence can do: say what it is worth on this machine, and put a command behind itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from skills_runtime.ports import Enclosure
from skills_runtime.ports.file_access import FileAccess
from skills_runtime.sandbox.machine import Machine
from skills_runtime.sandbox.policy import SandboxPolicy
from skills_runtime.sandbox.promises import PROMISES, Gap, Promise
from skills_runtime.sandbox.survey import Findings


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a probe found out, by running a command behind a real fence where there is one."""

    adapter: str
    works: bool
    version: str = ""
    problem: str = ""
    """Why it does not work, as one sentence."""
    fix: str = ""
    facts: Mapping[str, Any] = {}
    """What the probe saw from the inside."""


class Inner(msgspec.Struct, frozen=True, kw_only=True):
    """The command behind the fence."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    terminal: bool = False


class Enclosed(msgspec.Struct, frozen=True, kw_only=True):
    """The command as it is really started."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    enclosure: Enclosure
    options: tuple[str, ...] = ()
    """What the fence is told besides, for a person to read."""


class Adapter(Protocol):
    """One way to fence a command in."""

    name: str

    def probe(self) -> Capabilities:
        """What it can do here; asked once for each process and user."""
        ...

    def gaps(self, policy: SandboxPolicy, machine: Machine, findings: Findings) -> tuple[Gap, ...]:
        """The promises it would not keep for this policy."""
        ...

    def enclose(self, policy: SandboxPolicy, machine: Machine, findings: Findings, inner: Inner) -> Enclosed:
        """The command behind the fence; pure."""
        ...

    def file_access(self, policy: SandboxPolicy, machine: Machine, findings: Findings) -> FileAccess:
        """What a command behind it can read and write; pure."""
        ...


def kept(gaps: tuple[Gap, ...]) -> tuple[Promise, ...]:
    """The promises without a gap."""
    broken = {gap.promise for gap in gaps if not gap.partial}
    return tuple(promise for promise in PROMISES if promise not in broken)
