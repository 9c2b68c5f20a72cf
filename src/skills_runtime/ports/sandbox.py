"""The sandbox of every process of a run: requests, guarantees and grants."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from skills_runtime.ports.files import FileAccess

SandboxPermissions = Literal["inherit", "restricted", "require_escalated"]
LimitName = Literal[
    "memory_bytes", "processes", "cpu_seconds", "file_bytes", "open_files", "temporary_bytes", "shared_memory_bytes",
    "disk_bytes", "disk_files", "output_bytes",
]  # fmt: skip


class RaisedLimit(msgspec.Struct, frozen=True):
    """A limit of the policy, and its raised value."""

    name: LimitName
    value: int


class Grant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Additional permissions for a policy; equal grants compare equal, and each can be written as JSON."""

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


class ProcessRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A command as a tool wants to run it, before it is sandboxed."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str] = {}
    """Variables in addition to the minimal environment."""
    permissions: SandboxPermissions = "inherit"
    terminal: bool = False
    readable: tuple[Path, ...] = ()
    """Additional readable directories, such as that of a skill; they must not contain secrets."""
    grant: Grant | None = None
    """Additional permissions, which must have been approved before planning."""


class ControlGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A cgroup created for one command."""

    parent: str
    """The directory in which it is created."""
    home: str
    """The cgroup of the starting process, which returns to it."""
    settings: tuple[tuple[str, str], ...]
    """Files in it and their values; a limit that cannot be set is an error."""
    counters: tuple[str, ...] = ()
    """Files that report the usage and the reached limits afterwards."""


class Watch(msgspec.Struct, frozen=True, kw_only=True):
    """Limits that the kernel does not enforce, so that they are checked periodically."""

    memory_bytes: int | None = None
    disk_path: str | None = None
    disk_bytes: int | None = None
    disk_files: int | None = None
    disk_excluded: tuple[str, ...] = ()
    """Paths below it that the command cannot write: new files there are not its own."""


class KernelLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits set on the first process of a sandbox before the command starts."""

    values: tuple[tuple[str, int], ...]
    """Named as in the system, in lower case."""
    tells: int = 62
    """The descriptor on which the sandbox reports the id of that process, as JSON."""
    waits: int = 63
    """The descriptor on which it waits for the signal to start."""


class Quarantine(msgspec.Struct, frozen=True, kw_only=True):
    """Where new files that other programs would execute are moved after a command, and the files before it."""

    roots: tuple[str, ...]
    """The directories that the command can write."""
    directory: str
    """Where they are moved."""
    records: str
    """Where the command is recorded while it runs, so that nothing stays unchecked if the runtime is killed."""
    known_paths: frozenset[str] = msgspec.field(name="known")
    """The existing paths."""
    identities: frozenset[tuple[int, int]]
    """Their devices and inodes: a moved file is not new."""
    links: tuple[tuple[str, str], ...] = ()
    """Existing links and their targets: a removed one is restored."""


class Quarantined(msgspec.Struct, frozen=True, kw_only=True):
    """A new file that was moved to quarantine, or could not be."""

    path: str
    moved_to: str = ""
    problem: str = ""


class SandboxSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What the starting process has to do for a sandbox."""

    inputs: tuple[bytes, ...] = ()
    """Each is passed as a readable descriptor, numbered from 3."""
    control_groups: tuple[ControlGroup, ...] = ()
    watch: Watch | None = None
    limits: KernelLimits | None = None
    mounts: tuple[tuple[str, str, str], ...] = ()
    """Mounts before the command starts: target, source (empty for an empty directory), and the covered outside path,
    which must not be reached through a link; a mount without that path is skipped if its source does not exist.
    """
    withheld: int | None = None
    """The index of the input that is passed last: the sandbox starts no command before it has read it."""
    layers: int = 0
    """Generations of processes that belong to the sandbox: they are never asked to end, only killed at last."""
    takes_terminal: bool = False
    """The command takes over the terminal; no process in between may."""
    quarantine: Quarantine | None = None
    """What happens to new files after all processes of the command have ended."""

    @property
    def next_descriptor(self) -> int:
        """Return the number of the first additional descriptor."""
        return 3 + len(self.inputs)

    def __repr__(self) -> str:
        # The inputs hold environment variables, and representations end up in logs.
        return f"SandboxSetup({len(self.inputs)} inputs)"


class Egress(msgspec.Struct, frozen=True, kw_only=True):
    """The hosts that a command may reach, as rules; none by default, and a denial wins."""

    allow: tuple[str, ...] = ()
    allow_private: tuple[str, ...] = ()
    """Hosts that may be in a private network, such as a company's."""
    deny: tuple[str, ...] = ()
    unknown: Literal["deny", "ask"] = "deny"
    """What happens to a host that no rule names."""


class SandboxPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The sandboxed command: what is executed, and the guarantees."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    """The whole environment."""
    evidence: Mapping[str, Any]
    """Included in every result as `data.sandbox`."""
    setup: SandboxSetup = SandboxSetup()
    egress: Egress | None = None
    """The hosts it may reach through a proxy, which must be provided before the command starts."""
    file_access: FileAccess | None = None
    """What it can read and write, for the approver; not repeated in results. `None` without a sandbox."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the approver of the command."""
        files = {} if self.file_access is None else {"file_access": self.file_access.to_dict()}
        return {"argv": list(self.argv), "cwd": str(self.cwd), **self.evidence, **files}


class Sandbox(Protocol):
    """Plans sandboxed commands."""

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        """Plan a command; raises `SandboxError` if the required isolation is not available."""
        ...
