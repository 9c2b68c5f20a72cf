"""The sandbox around every process a run starts: what it is asked for, what it promises, what may widen it."""

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
    """A limit of the policy, and the higher value it gets."""

    name: LimitName
    value: int


class Grant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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


class ProcessRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A command as a tool wants to run it, before the fence."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str] = {}
    """What the command gets besides the little every process needs."""
    permissions: SandboxPermissions = "inherit"
    terminal: bool = False
    readable: tuple[Path, ...] = ()
    """Directories it has to read besides, such as that of a skill; nothing secret may lie in them."""
    grant: Grant | None = None
    """What its fence is widened by: whoever plans it has asked somebody before."""


class ControlGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group of processes that the kernel limits together, made for one command."""

    parent: str
    """The directory in which it is made."""
    home: str
    """The group of whoever starts the command, who goes back there."""
    settings: tuple[tuple[str, str], ...]
    """Names of files in it, and what is written to them; a limit that cannot be set is refused."""
    counters: tuple[str, ...] = ()
    """Files that tell afterwards what was used, and which limit was met."""


class Watch(msgspec.Struct, frozen=True, kw_only=True):
    """Limits that the kernel does not keep, so that somebody has to look now and then."""

    memory_bytes: int | None = None
    disk_path: str | None = None
    disk_bytes: int | None = None
    disk_files: int | None = None
    disk_excluded: tuple[str, ...] = ()
    """What a command cannot write below the path: what is new there is not its own."""


class KernelLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits that are set on the first process of a fence before the command begins."""

    values: tuple[tuple[str, int], ...]
    """As the system names them, in small letters."""
    tells: int = 62
    """The descriptor on which the fence tells the number of that process, as JSON."""
    waits: int = 63
    """The descriptor on which it waits for the word to begin."""


class Quarantine(msgspec.Struct, frozen=True, kw_only=True):
    """Where new files that programs outside would obey are moved after a command, and what was there before it."""

    roots: tuple[str, ...]
    """The directories that the command can write."""
    directory: str
    """Where they are moved."""
    records: str
    """Where the command is recorded while it runs, so that a runtime that is killed leaves nothing unchecked."""
    known_paths: frozenset[str] = msgspec.field(name="known")
    """The paths that were there."""
    identities: frozenset[tuple[int, int]]
    """Their devices and numbers: what was only moved is not new."""
    links: tuple[tuple[str, str], ...] = ()
    """Those that are links, and where they lead: one that is gone is put back."""


class Quarantined(msgspec.Struct, frozen=True, kw_only=True):
    """Something new that was moved aside, or could not be."""

    path: str
    moved_to: str = ""
    problem: str = ""


class SandboxSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What whoever starts a command has to do for its fence."""

    inputs: tuple[bytes, ...] = ()
    """Each is handed over as a descriptor to read from, numbered from 3 on."""
    control_groups: tuple[ControlGroup, ...] = ()
    watch: Watch | None = None
    limits: KernelLimits | None = None
    mounts: tuple[tuple[str, str, str], ...] = ()
    """What has to be mounted before the command begins: where, what (nothing: an empty directory), and the path outside
    that it covers, to which no link may lead; a mount without the last is left out where there is nothing to mount."""
    withheld: int | None = None
    """The place among the inputs of the one that is given last: a fence begins no command before it has read it."""
    layers: int = 0
    """How many generations of processes belong to the fence: they are never asked to end, only killed at last."""
    takes_terminal: bool = False
    """The command makes the terminal its own; nobody on the way to it may."""
    quarantine: Quarantine | None = None
    """What is done with the new files of the command when nothing of it is left."""

    @property
    def next_descriptor(self) -> int:
        """The number of the first descriptor that is handed over besides."""
        return 3 + len(self.inputs)

    def __repr__(self) -> str:
        # The inputs hold environment variables, and representations end up in logs.
        return f"SandboxSetup({len(self.inputs)} inputs)"


class Egress(msgspec.Struct, frozen=True, kw_only=True):
    """Which hosts a command may reach, as rules that people write; nothing by default, and a denial wins."""

    allow: tuple[str, ...] = ()
    allow_private: tuple[str, ...] = ()
    """Those that may lie in a private network, such as that of a company."""
    deny: tuple[str, ...] = ()
    unknown: Literal["deny", "ask"] = "deny"
    """What becomes of a host that no rule names."""


class SandboxPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The command inside the fence: what is really executed, and what that promises."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    """The whole environment."""
    evidence: Mapping[str, Any]
    """Goes into every result as `data.sandbox`."""
    setup: SandboxSetup = SandboxSetup()
    egress: Egress | None = None
    """What it may reach through a proxy: the command does not begin before whoever starts it provides one."""
    file_access: FileAccess | None = None
    """What it can read and write, for whoever is asked about it: no result repeats that. Nothing without a fence."""

    def to_dict(self) -> dict[str, Any]:
        """The fence as plain data, for whoever is asked about the command."""
        files = {} if self.file_access is None else {"file_access": self.file_access.to_dict()}
        return {"argv": list(self.argv), "cwd": str(self.cwd), **self.evidence, **files}


class Sandbox(Protocol):
    """Puts commands behind a fence, or refuses."""

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        """The command inside the fence; raises `SandboxError` when the isolation asked for cannot be given."""
        ...
