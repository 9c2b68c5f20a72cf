"""What every kind of sandbox can do: say what it is worth on this machine, and wrap a command.

With what adapters have in common: the environment of a command, and what it can read and write. Pure.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from skills_runtime.ports import FileAccess, SandboxSetup
from skills_runtime.sandbox.machine import Machine
from skills_runtime.sandbox.policy import PROMISES, Gap, Promise, SandboxPolicy
from skills_runtime.sandbox.protected_paths import Findings


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
    git_identity: tuple[str, str] = ("agent", "agent@localhost")
    """Name and address of commits that it makes."""


class SandboxedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The command as it is really started."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    setup: SandboxSetup
    options: tuple[str, ...] = ()
    """What the fence is told besides, for a person to read."""


class Adapter(Protocol):
    """One way to fence a command in."""

    name: str

    def probe(self) -> Capabilities:
        """Return what the adapter can do on this machine; called once per process and user."""
        ...

    def gaps(self, policy: SandboxPolicy, machine: Machine, findings: Findings) -> tuple[Gap, ...]:
        """Return the promises that the adapter cannot keep for this policy."""
        ...

    def wrap(self, policy: SandboxPolicy, machine: Machine, findings: Findings, inner: Inner) -> SandboxedCommand:
        """Wrap the command in the sandbox; pure."""
        ...

    def file_access(self, policy: SandboxPolicy, machine: Machine, findings: Findings) -> FileAccess:
        """Return what a sandboxed command can read and write; pure."""
        ...


def held_promises(gaps: tuple[Gap, ...]) -> tuple[Promise, ...]:
    """Return the promises without a gap: one that is kept in part is told by its gap alone."""
    broken = {gap.promise for gap in gaps}
    return tuple(promise for promise in PROMISES if promise not in broken)


def build_file_access(policy: SandboxPolicy, system: tuple[str, ...]) -> FileAccess:
    """Return the opened directories as a whole, for adapters that cannot except paths inside them."""
    writes = policy.access == "write"
    return FileAccess(
        workspace=policy.workspace,
        writable=(policy.workspace, *policy.writable) if writes else policy.writable,
        readable=policy.readable if writes else (policy.workspace, *policy.readable),
        system=system,
    )


def list_system_paths(machine: Machine) -> tuple[str, ...]:
    """List the system paths that every command needs to read."""
    interpreter = (str(machine.interpreter),) if machine.interpreter else ()
    return (*machine.roots, *(link for link, _ in machine.links), *machine.files, *interpreter)


def list_protected(policy: SandboxPolicy, findings: Findings) -> tuple[Path, ...]:
    """List the read-only paths inside writable directories."""
    if policy.access == "read" and not policy.opened:
        return ()
    return findings.read_only


def list_hidden(policy: SandboxPolicy, findings: Findings) -> tuple[Path, ...]:
    """List the paths that a command can neither read nor write."""
    return tuple(dict.fromkeys((*findings.hidden_files, *findings.hidden_directories, *policy.hidden)))


INHERITED = ("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ", "TERM", "COLORTERM", "NO_COLOR")
"""What says how to write for a person; it names no place and holds no secret."""

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
HOME = "/tmp/home"
USER = "sandbox"


def build_environment(variables: Mapping[str, str], requested: Mapping[str, str], machine: Machine) -> dict[str, str]:
    """Every variable of the command; what was asked for comes last."""
    path = SYSTEM_PATH if machine.interpreter is None else f"{SYSTEM_PATH}:{machine.interpreter}/bin"
    ours = {"PATH": path, "HOME": HOME, "USER": USER, "LOGNAME": USER, "TMPDIR": "/tmp", "LANG": "C.UTF-8"}
    chosen = {name: variables[name] for name in INHERITED if name in variables}
    return {**ours, "TERM": "dumb", **chosen, **requested}
