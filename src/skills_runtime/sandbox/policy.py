"""What a command may do, as one value that can be compared, printed and named by its digest."""

import hashlib
from pathlib import Path
from typing import Any, Literal

import msgspec

from skills_runtime.ports import Egress
from skills_runtime.sandbox.promises import ISOLATION, Promise

Profile = Literal["read-only", "workspace-write", "workspace-net", "build", "danger"]
Access = Literal["read", "write"]
Network = Literal["none", "allow-list", "host"]

_ADDED = ("egress", "opened")

MEBIBYTE = 1 << 20
GIBIBYTE = 1 << 30


class ResourceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a command and everything it starts may use; nothing means that there is no limit."""

    memory_bytes: int | None = 4 * GIBIBYTE
    processes: int | None = 1024
    cpu_seconds: int | None = None
    """Of each process."""
    file_bytes: int | None = 2 * GIBIBYTE
    """Of each file it writes."""
    open_files: int | None = 4096
    temporary_bytes: int = GIBIBYTE
    """Of the private `/tmp`."""
    shared_memory_bytes: int = 256 * MEBIBYTE
    """Of the private `/dev/shm`."""
    disk_bytes: int | None = 8 * GIBIBYTE
    """Written to the workspace in one go."""
    disk_files: int | None = 500_000
    """Made in the workspace in one go."""
    wall_seconds: float | None = None
    """Where whoever starts the command says nothing of its own."""
    output_bytes: int | None = None
    """Written to both streams together."""


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
"""For a command nobody has said anything about: enough to look around and to try something small."""


class SandboxPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What the fence has to do; equal policies have equal digests on every machine."""

    profile: Profile
    workspace: Path
    """A real path, without links."""
    aliases: tuple[Path, ...] = ()
    """Other paths by which the workspace is known, through links outside it."""
    owner: tuple[int, int] | None = None
    """User and group of the workspace, if the command of an administrator is to run as them."""
    access: Access = "write"
    """To the workspace."""
    network: Network = "none"
    unix_sockets: bool = False
    readable: tuple[Path, ...] = ()
    """What can be read besides the system and the workspace."""
    writable: tuple[Path, ...] = ()
    """What can be written besides the workspace and `/tmp`, even below a protected directory."""
    hidden: tuple[Path, ...] = ()
    """Directories in the workspace that are neither read nor written, besides those with a name that says so."""
    limits: ResourceLimits = ResourceLimits()
    required: frozenset[Promise] = ISOLATION
    """What must be kept, or nothing is started."""
    accepted_gaps: frozenset[Promise] = frozenset()
    """Promises that the user does without; they are told in every result."""
    egress: Egress | None = None
    """The allow-list, where the network is one: without it there is no way out at all."""
    opened: tuple[Path, ...] = ()
    """What of `readable` and `writable` somebody has allowed later: it is looked through as the workspace is."""

    @property
    def digest(self) -> str:
        """The name of the policy: what is approved under one digest is not approved under another."""
        values: dict[str, Any] = msgspec.to_builtins(self, enc_hook=_text, order="sorted")
        for name in _ADDED:
            if not values[name]:  # so that a policy without them keeps the name it has always had
                del values[name]
        return "sha256:" + hashlib.sha256(msgspec.json.encode(values, order="sorted")).hexdigest()


def _text(path: Path) -> str:
    """The path as text, also where its name is none."""
    return str(path).encode(errors="backslashreplace").decode()
