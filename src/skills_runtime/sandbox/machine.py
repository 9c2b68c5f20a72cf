"""Describe this machine as far as a sandbox depends on it: read once, then a value.

Includes the control groups this user can create, by which the kernel limits a whole command.
"""

import os
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.ports import ControlGroup
from skills_runtime.sandbox.seccomp import ARCHITECTURES, Architecture

_MEMORY, _PIDS = "memory", "pids"
SOCKET_MEMORY = "memory.kmem.tcp.limit_in_bytes"
# cgroup v1 counts socket buffers separately; they get this fraction of the memory limit besides.
SOCKET_SHARE = 8


class ControlGroups(msgspec.Struct, frozen=True, kw_only=True):
    """Where control groups can be created, and in which version of the interface."""

    version: Literal[1, 2]
    memory: Path | None = None
    """The directory in which a group for memory can be made."""
    pids: Path | None = None
    limits_sockets: bool = True
    """Whether the buffers of internet sockets can be limited; cgroup v1 counts them separately."""
    home: Path | None = None
    """The group of this process in cgroup v2."""

    def groups(self, *, memory_bytes: int | None, processes: int | None) -> tuple[ControlGroup, ...]:
        """Return the control groups that enforce these limits."""
        if self.version == 1:
            return self._first_version(memory_bytes, processes)
        settings = [
            *([("memory.max", str(memory_bytes)), ("memory.swap.max", "0")] if memory_bytes else []),
            *([("pids.max", str(processes))] if processes else []),
        ]
        if not settings or self.memory is None or self.home is None:
            return ()
        counters = ("memory.events", "memory.peak", "pids.events")
        return (
            ControlGroup(parent=str(self.memory), home=str(self.home), settings=tuple(settings), counters=counters),
        )

    def _first_version(self, memory_bytes: int | None, processes: int | None) -> tuple[ControlGroup, ...]:
        groups: list[ControlGroup] = []
        if self.memory is not None and memory_bytes:
            sockets = ((SOCKET_MEMORY, str(memory_bytes // SOCKET_SHARE)),) if self.limits_sockets else ()
            settings = (("memory.limit_in_bytes", str(memory_bytes)), ("memory.swappiness", "0"), *sockets)
            counters = ("memory.oom_control", "memory.max_usage_in_bytes")
            groups.append(_group(self.memory, settings, counters))
        if self.pids is not None and processes:
            groups.append(_group(self.pids, (("pids.max", str(processes)),), ("pids.events",)))
        return tuple(groups)


def _group(parent: Path, settings: tuple[tuple[str, str], ...], counters: tuple[str, ...]) -> ControlGroup:
    return ControlGroup(parent=str(parent), home=str(parent), settings=settings, counters=counters)


def find_control_groups() -> ControlGroups | None:
    """Find the control groups that this process may create below its own, if any."""
    try:
        memberships = Path("/proc/self/cgroup").read_text(encoding="utf-8")
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    except OSError:
        return None
    directories = find_group_directories(memberships, mounts)
    unified = directories.get("")
    if unified is not None and (parent := _find_delegated(unified)) is not None:
        return ControlGroups(version=2, memory=parent, pids=parent, home=unified)
    usable = {
        name: path
        for name, path in directories.items()
        if os.access(path, os.W_OK) and os.access(path / "cgroup.procs", os.W_OK)
    }
    memory, pids = usable.get(_MEMORY), usable.get(_PIDS)
    if not memory and not pids:
        return None
    sockets = memory is not None and (memory / SOCKET_MEMORY).exists()
    return ControlGroups(version=1, memory=memory, pids=pids, limits_sockets=sockets)


def find_group_directories(memberships: str, mounts: str) -> dict[str, Path]:
    """Map each controller to the group directory of this process; the empty name is the unified hierarchy."""
    roots: dict[str, tuple[str, str]] = {}
    for line in mounts.splitlines():
        mount_fields, _, filesystem_fields = line.partition(" - ")
        fields, kind = mount_fields.split(), filesystem_fields.split()
        if kind[:1] == ["cgroup2"]:
            roots[""] = (fields[3], fields[4])
        elif kind[:1] == ["cgroup"]:
            for controller in kind[2].split(","):
                roots.setdefault(controller, (fields[3], fields[4]))
    directories: dict[str, Path] = {}
    for line in memberships.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            if controller in roots:
                root, mount = roots[controller]
                directories[controller] = Path(mount) / os.path.relpath(path, root)
    return directories


def _find_delegated(own: Path) -> Path | None:
    """Find the nearest parent directory in which this user can create a group with both controllers."""
    for directory in (own, *own.parents):
        try:
            parts = (directory / "cgroup.subtree_control").read_text(encoding="utf-8").split()
        except OSError:
            return None
        if {_MEMORY, _PIDS} <= set(parts):
            files = (directory, directory / "cgroup.procs")
            return directory if all(os.access(path, os.W_OK) for path in files) else None
    return None


SYSTEM_ROOTS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
"""Directories of programs and libraries."""

# What programs need to start; no file with a password, a key or a name of this network is among them.
SYSTEM_FILES = (
    "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/os-release", "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf", "/etc/services",
    "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted", "/etc/crypto-policies",
    "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/java-25-openjdk",
)  # fmt: skip

MIN_HOME_PARTS = 3
"""Number of path parts below which no home directory lies."""

# The kernel shows a user's keyring to every process of that user.
KEYS = "/proc/keys"
KERNEL_SECRETS = (
    "/proc/kcore", "/proc/sched_debug", "/proc/latency_stats", "/proc/kpageflags", "/proc/kpagecount",
    "/proc/kpagecgroup", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/timer_list", "/proc/pagetypeinfo",
)  # fmt: skip
KERNEL_DIRECTORIES = ("/proc/scsi",)
"""What the kernel shows only to root."""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan needs to know about a machine; another value plans for another machine."""

    architecture: Architecture | None
    """None if the seccomp filter does not know the architecture."""
    user: int = 0
    roots: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    """System roots and files that are links, with their targets."""
    files: tuple[str, ...] = ()
    kernel_secrets: tuple[str, ...] = ()
    kernel_directories: tuple[str, ...] = ()
    interpreter: Path | None = None
    """The Python installation of the runtime, if it lies outside the system roots."""
    session_maker: str | None = None
    """The program that gives a new session its controlling terminal."""
    identity_changer: str | None = None
    """The program with which root becomes another user."""
    control_groups: ControlGroups | None = None
    scope_maker: str | None = None
    """The program that starts a command under the user's systemd, where control groups cannot be created."""
    kernel: str = ""


def this_machine() -> Machine:
    """Describe this machine for this user, probed on first use."""
    return _machine(os.geteuid())


@cache
def _machine(user: int) -> Machine:
    roots = [root for root in SYSTEM_ROOTS if Path(root).is_dir()]
    files = _existing(SYSTEM_FILES)
    processor = platform.machine()
    # Virtual environments in the workspace need the Python they were created from.
    home = Path(sys.base_prefix).resolve()
    is_system = any(home.is_relative_to(root) for root in roots)
    return Machine(
        architecture=next((name for name in ARCHITECTURES if name == processor), None),
        user=user,
        roots=tuple(root for root in roots if not _is_link(root)),
        links=tuple((path, str(Path(path).readlink())) for path in (*roots, *files) if _is_link(path)),
        files=tuple(path for path in files if not _is_link(path)),
        kernel_secrets=_existing((KEYS, *KERNEL_SECRETS) if user == 0 else (KEYS,)),
        kernel_directories=_existing(KERNEL_DIRECTORIES) if user == 0 else (),
        interpreter=None
        if is_system or len(home.parts) < MIN_HOME_PARTS or not os.access(home / "bin", os.R_OK | os.X_OK)
        else home,
        session_maker=_program("setsid"),
        identity_changer=_program("setpriv"),
        control_groups=find_control_groups(),
        scope_maker=_program("systemd-run") if Path(f"/run/user/{user}/systemd/private").exists() else None,
        kernel=platform.release(),
    )


def _is_link(path: str) -> bool:
    """Return whether it is a link whose target exists inside the sandbox too."""
    return Path(path).is_symlink() and Path(path).resolve().is_relative_to("/usr")


def _existing(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path for path in paths if os.access(path, os.R_OK))


def _program(name: str) -> str | None:
    candidates = (f"{directory}/{name}" for directory in ("/usr/bin", "/bin"))
    return next((path for path in candidates if os.access(path, os.X_OK)), None)
