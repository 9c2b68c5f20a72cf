"""What a command may do, as a value that can be compared, printed and identified by its digest.

Also the promises a sandbox makes, gaps in them, and profiles, which are named policies.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from skills_runtime.errors import SandboxError, ValidationFailed
from skills_runtime.ports import Egress

Promise = Literal[
    "fs_write", "fs_read", "protected_paths", "secrets", "network", "processes", "ipc", "terminal", "no_new_privileges",
    "capabilities", "system_calls", "devices", "environment", "descriptors", "memory", "process_count", "cpu",
    "file_size", "open_files", "core_dumps", "wall_clock", "output", "temporary_space", "disk",
]  # fmt: skip

PROMISES: Mapping[Promise, str] = {
    "fs_write": "a process writes only to the workspace, to `/tmp`, and to what the policy names",
    "fs_read": "a process reads only the system's programs, the workspace, and what the policy names",
    "protected_paths": "hooks, configuration of agents and editors, and the runtime's own directory stay as they are",
    "secrets": "files with secrets in the workspace cannot be read",
    "network": "a process has no network, or only the hosts on the allow-list",
    "processes": "a process sees and signals only what the command has started",
    "ipc": "a process shares no memory, queues or sockets with programs outside",
    "terminal": "a process cannot type into the terminal of the user",
    "no_new_privileges": "no program gives a process more rights than it has",
    "capabilities": "a process has none of the rights of an administrator",
    "system_calls": "a process cannot use the calls of the kernel that ordinary programs do not need",
    "devices": "a process reaches no device but those that every program uses",
    "environment": "a process sees only the environment variables it was given",
    "descriptors": "a process has nothing open but its own streams",
    "memory": "the kernel limits the memory of all processes together",
    "process_count": "the kernel limits the number of processes",
    "cpu": "the kernel limits the processor time of each process",
    "file_size": "the kernel limits the size of each file",
    "open_files": "the kernel limits how many files a process has open",
    "core_dumps": "a process that crashes leaves no copy of its memory",
    "wall_clock": "a command that takes too long is ended with everything it has started",
    "output": "of what a command writes only so much is kept or passed on",
    "temporary_space": "the private `/tmp` and `/dev/shm` are bounded",
    "disk": "the kernel limits what is written to the workspace altogether",
}  # fmt: skip

# Every sandbox must keep these; resource limits may be gaps, which every result reports.
ISOLATION: frozenset[Promise] = frozenset[Promise](
    {
        "fs_write", "fs_read", "protected_paths", "secrets", "network", "processes", "ipc", "terminal",
        "no_new_privileges", "capabilities", "system_calls", "devices", "environment", "descriptors",
        "wall_clock", "output", "core_dumps",
    }
)  # fmt: skip

CONTAINMENT: frozenset[Promise] = frozenset[Promise](("fs_write", "fs_read", "protected_paths", "secrets", "network"))
"""Promises that must be kept, despite accepted gaps, for commands to run without approval in mode `auto`."""

# Required where other users' work runs on the same machine.
BOUNDED: frozenset[Promise] = ISOLATION | frozenset[Promise](
    ("memory", "process_count", "file_size", "open_files", "temporary_space")
)


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """A promise that is not kept: the consequence, and a fix."""

    promise: Promise
    text: str
    fix: str = ""
    partial: bool = False
    """Whether the promise is kept except for what the text says."""

    def __str__(self) -> str:
        return f"{self.promise}: {self.text}"


NO_OWN_NETWORK = "this sandbox cannot give a command its own network, which an allow-list needs"


def unmet(required: frozenset[Promise], accepted: frozenset[Promise], gaps: tuple[Gap, ...]) -> tuple[Gap, ...]:
    """Return the gaps in required promises that the user has not accepted."""
    promises = required - accepted
    return tuple(gap for gap in gaps if gap.promise in promises and not gap.partial)


def refusal(adapter: str, missing: tuple[Gap, ...]) -> SandboxError:
    """Build the error that names the promises that cannot be kept and what to do."""
    names = ", ".join(f"`{gap.promise}`" for gap in missing)
    fixes = "; ".join(dict.fromkeys(gap.fix for gap in missing if gap.fix))
    return SandboxError(
        f"the sandbox cannot promise {names} here: {'; '.join(dict.fromkeys(gap.text for gap in missing))}",
        hint=fixes or "`skills-runtime sandbox doctor` tells what this machine can do",
        details={"adapter": adapter, "missing": [gap.promise for gap in missing]},
    )


def parse_promise(name: str) -> Promise:
    """Return the promise with this name."""
    for promise in PROMISES:
        if name == promise:
            return promise
    raise ValidationFailed(f"there is no promise `{name!a}`", hint=f"promises: {', '.join(PROMISES)}")


Profile = Literal["read-only", "workspace-write", "workspace-net", "build", "danger"]
Access = Literal["read", "write"]
Network = Literal["none", "allow-list", "host"]

_ADDED = ("allow_home", "egress", "opened")

MEBIBYTE = 1 << 20
GIBIBYTE = 1 << 30


class ResourceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a command and everything it starts; None means unlimited."""

    memory_bytes: int | None = 4 * GIBIBYTE
    processes: int | None = 1024
    cpu_seconds: int | None = None
    """Per process."""
    file_bytes: int | None = 2 * GIBIBYTE
    """Per file it writes."""
    open_files: int | None = 4096
    temporary_bytes: int = GIBIBYTE
    """Size of the private `/tmp`."""
    shared_memory_bytes: int = 256 * MEBIBYTE
    """Size of the private `/dev/shm`."""
    disk_bytes: int | None = 8 * GIBIBYTE
    """Bytes written to the workspace per command."""
    disk_files: int | None = 500_000
    """Files created in the workspace per command."""
    wall_seconds: float | None = None
    """Default where the caller sets no timeout."""
    output_bytes: int | None = None
    """Both streams together."""


CAREFUL = ResourceLimits(
    memory_bytes=512 * MEBIBYTE,
    processes=200,
    cpu_seconds=8,
    file_bytes=64 * MEBIBYTE,
    open_files=1024,
    temporary_bytes=128 * MEBIBYTE,
    shared_memory_bytes=32 * MEBIBYTE,
    disk_bytes=256 * MEBIBYTE,
    disk_files=10_000,
    wall_seconds=6.0,
    output_bytes=8 * MEBIBYTE,
)
"""Defaults for a command: enough to look around and try something small."""


class SandboxPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What the sandbox enforces; equal policies have equal digests on every machine."""

    profile: Profile
    workspace: Path
    """A real path, without links."""
    aliases: tuple[Path, ...] = ()
    """Other paths that lead to the workspace through links outside it."""
    owner: tuple[int, int] | None = None
    """User and group of the workspace, if root runs the command as them."""
    access: Access = "write"
    """Access to the workspace."""
    network: Network = "none"
    unix_sockets: bool = False
    readable: tuple[Path, ...] = ()
    """Readable besides the system and the workspace."""
    writable: tuple[Path, ...] = ()
    """Writable besides the workspace and `/tmp`, even below a protected directory."""
    hidden: tuple[Path, ...] = ()
    """Directories in the workspace that are neither read nor written, besides those hidden by name."""
    protected: tuple[Path, ...] = ()
    """Read-only paths in the workspace, besides those protected by name."""
    limits: ResourceLimits = ResourceLimits()
    required: frozenset[Promise] = ISOLATION
    """Promises without which nothing is started."""
    accepted_gaps: frozenset[Promise] = frozenset()
    """Promises the user does without; every result lists them."""
    egress: Egress | None = None
    """The allow-list of the proxy; None means there is no way out."""
    allow_home: bool = False
    """The user has accepted that the workspace is or contains a home directory."""
    opened: tuple[Path, ...] = ()
    """The part of `readable` and `writable` that was granted later: scanned like the workspace."""

    @property
    def digest(self) -> str:
        """The identity of the policy: an approval under one digest does not hold under another."""
        values: dict[str, Any] = msgspec.to_builtins(self, enc_hook=_text, order="sorted")
        # It only tightens, and a resumed run has other configuration files.
        del values["protected"]
        for name in _ADDED:
            if not values[name]:  # so that policies without these fields keep their digest
                del values[name]
        return "sha256:" + hashlib.sha256(msgspec.json.encode(values, order="sorted")).hexdigest()


def _text(path: Path) -> str:
    """Return the path as text, even if it is not valid UTF-8."""
    return str(path).encode(errors="backslashreplace").decode()


PROFILES: tuple[Profile, ...] = get_args(Profile)
DEFAULT_PROFILE: Profile = "workspace-write"

DESCRIPTIONS: dict[Profile, str] = {
    "read-only": "the workspace can be read, and only `/tmp` written",
    "workspace-write": "the workspace can be written, except for protected paths; no network",
    "workspace-net": "as workspace-write, with the hosts on an allow-list",
    "build": "as workspace-write, with more memory, time and disk space",
    "danger": "no sandbox; only the environment is clean",
}

BUILD_LIMITS = ResourceLimits(
    memory_bytes=16 * GIBIBYTE,
    processes=4096,
    file_bytes=None,
    open_files=65536,
    temporary_bytes=8 * GIBIBYTE,
    shared_memory_bytes=2 * GIBIBYTE,
    disk_bytes=64 * GIBIBYTE,
    disk_files=5_000_000,
)


def parse_profile(name: str) -> Profile:
    """Return the profile with this name; `restricted` is the old name of the default one."""
    for profile in PROFILES:
        if name == profile or (name == "restricted" and profile == DEFAULT_PROFILE):
            return profile
    raise ValidationFailed(f"there is no profile `{name!a}`", hint=f"profiles: {', '.join(PROFILES)}")


def build_policy(profile: Profile, workspace: Path, limits: ResourceLimits | None = None) -> SandboxPolicy:
    """Build the policy of a profile for a workspace."""
    policy = SandboxPolicy(profile=profile, workspace=workspace, limits=limits or ResourceLimits())
    match profile:
        case "read-only":
            return msgspec.structs.replace(policy, access="read")
        case "workspace-net":
            return msgspec.structs.replace(policy, network="allow-list")
        case "build":
            return msgspec.structs.replace(policy, limits=limits or BUILD_LIMITS)
        case "danger":
            return msgspec.structs.replace(policy, network="host", required=frozenset())
        case "workspace-write":
            return policy
