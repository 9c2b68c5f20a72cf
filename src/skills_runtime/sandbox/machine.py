"""What this machine is like, as far as a fence depends on it: read once, then a value."""

import os
import platform
import sys
from functools import cache
from pathlib import Path

import msgspec

from skills_runtime.sandbox.control_groups import ControlGroups, find_control_groups
from skills_runtime.sandbox.seccomp import ARCHITECTURES
from skills_runtime.sandbox.seccomp.program import Architecture

SYSTEM_ROOTS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
"""Where programs and their libraries are."""

SYSTEM_FILES = (
    "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/os-release", "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf", "/etc/services",
    "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted", "/etc/crypto-policies",
    "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/java-25-openjdk",
)  # fmt: skip
"""What programs read to work at all; no file with a password, a key or a name of this network is among them."""

DEEP = 3
"""Parts of a path below which nobody keeps a whole home directory."""

KEYS = "/proc/keys"
"""What the kernel shows of a user's keys to everything that runs as that user."""
KERNEL_SECRETS = (
    "/proc/kcore", "/proc/sched_debug", "/proc/latency_stats", "/proc/kpageflags", "/proc/kpagecount",
    "/proc/kpagecgroup", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/timer_list", "/proc/pagetypeinfo",
)  # fmt: skip
KERNEL_DIRECTORIES = ("/proc/scsi",)
"""What the kernel shows to an administrator."""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan needs to know; a plan for another machine only needs another value."""

    architecture: Architecture | None
    """Nothing where the filter of system calls has no numbers."""
    user: int = 0
    roots: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    """Roots and files that are links into the system, with where they lead."""
    files: tuple[str, ...] = ()
    kernel_secrets: tuple[str, ...] = ()
    kernel_directories: tuple[str, ...] = ()
    interpreter: Path | None = None
    """Where the Python of the runtime lives, if that is outside the system's roots."""
    session_maker: str | None = None
    """The program that makes a terminal the own one of a new session."""
    identity_changer: str | None = None
    """The program that makes an administrator another user."""
    control_groups: ControlGroups | None = None
    scope_maker: str | None = None
    """The program by which the user's own service manager limits a command, where there are no control groups."""
    kernel: str = ""


def this_machine() -> Machine:
    """The machine as this user found it when first asked for."""
    return _machine(os.geteuid())


@cache
def _machine(user: int) -> Machine:
    roots = [root for root in SYSTEM_ROOTS if Path(root).is_dir()]
    files = _existing(SYSTEM_FILES)
    here = platform.machine()
    return Machine(
        architecture=next((known for known in ARCHITECTURES if known == here), None),
        user=user,
        roots=tuple(root for root in roots if not _is_link(root)),
        links=tuple((path, str(Path(path).readlink())) for path in (*roots, *files) if _is_link(path)),
        files=tuple(path for path in files if not _is_link(path)),
        kernel_secrets=_existing((KEYS, *KERNEL_SECRETS) if user == 0 else (KEYS,)),
        kernel_directories=_existing(KERNEL_DIRECTORIES) if user == 0 else (),
        interpreter=_interpreter(roots),
        session_maker=_program("setsid"),
        identity_changer=_program("setpriv"),
        control_groups=find_control_groups(),
        scope_maker=_program("systemd-run") if Path(f"/run/user/{user}/systemd/private").exists() else None,
        kernel=platform.release(),
    )


def _is_link(path: str) -> bool:
    """Whether it is a link that leads to a place which is there inside as well."""
    return Path(path).is_symlink() and Path(path).resolve().is_relative_to("/usr")


def _existing(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path for path in paths if os.access(path, os.R_OK))


def _program(name: str) -> str | None:
    found = (f"{directory}/{name}" for directory in ("/usr/bin", "/bin"))
    return next((path for path in found if os.access(path, os.X_OK)), None)


def _interpreter(roots: list[str]) -> Path | None:
    """Programs made for the runtime's Python, such as an environment in the workspace, need what it was made from."""
    home = Path(sys.base_prefix).resolve()
    known = any(home.is_relative_to(root) for root in roots)
    return None if known or len(home.parts) < DEEP or not os.access(home / "bin", os.R_OK | os.X_OK) else home
