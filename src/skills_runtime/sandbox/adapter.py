"""The adapter interface: probe a machine, wrap a command, report gaps.

Also what adapters share: the environment of a command, and the files it can read and write. Pure.
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
    """The result of a probe, which runs a command in a real sandbox where possible."""

    adapter: str
    works: bool
    version: str = ""
    problem: str = ""
    """Why the adapter does not work, as one sentence."""
    fix: str = ""
    facts: Mapping[str, Any] = {}
    """What the probe observed inside the sandbox."""


class Inner(msgspec.Struct, frozen=True, kw_only=True):
    """The command that runs inside the sandbox."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    terminal: bool = False
    git_identity: tuple[str, str] = ("agent", "agent@localhost")
    """Name and email address for commits the command makes."""


class SandboxedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The command line that is started."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    setup: SandboxSetup
    options: tuple[str, ...] = ()
    """Other options of the sandbox, for display."""


class Adapter(Protocol):
    """One way to sandbox a command."""

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


def list_held_promises(gaps: tuple[Gap, ...]) -> tuple[Promise, ...]:
    """Return the promises that are kept in full; a partly kept one is reported by its gap."""
    broken = {gap.promise for gap in gaps}
    return tuple(promise for promise in PROMISES if promise not in broken)


def build_file_access(policy: SandboxPolicy, system: tuple[str, ...]) -> FileAccess:
    """Return the opened directories as a whole, for adapters that cannot exclude paths inside them."""
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
"""Variables passed on: locale settings, which contain neither paths nor secrets."""

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
HOME = "/tmp/home"
USER = "sandbox"


def build_environment(variables: Mapping[str, str], requested: Mapping[str, str], machine: Machine) -> dict[str, str]:
    """Return the complete environment of the command; requested variables override all others."""
    path = SYSTEM_PATH if machine.interpreter is None else f"{SYSTEM_PATH}:{machine.interpreter}/bin"
    ours = {"PATH": path, "HOME": HOME, "USER": USER, "LOGNAME": USER, "TMPDIR": "/tmp", "LANG": "C.UTF-8"}
    chosen = {name: variables[name] for name in INHERITED if name in variables}
    return {**ours, "TERM": "dumb", **chosen, **requested}
