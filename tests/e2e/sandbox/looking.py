"""Run behind a fence, this prints as JSON everything that can be seen from there; it knows nothing of who put it up."""

import ctypes
import errno
import fcntl
import json
import os
import resource
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOLD = (
    "Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp", "Seccomp_filters", "SigBlk", "SigIgn", "SigPnd", "CapInh",
    "CapPrm", "CapEff", "CapBnd", "CapAmb",
)  # fmt: skip
OWN = ("/", "/dev", "/dev/pts", "/dev/shm", "/etc", "/etc/ssl", "/var", "/run", "/tmp", "/tmp/home", "/root", "/home")
WRITTEN = (
    "/x", "/usr/x", "/etc/x", "/etc/passwd", "/dev/x", "/dev/null", "/dev/shm/x", "/tmp/x", "/var/x", "/run/x",
    "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/self/oom_score_adj", "x", ".git/config", ".vscode/x",
    ".claude/x", ".mcp.json", ".skills_runtime_sdk/x", "sub/.git/hooks/x",
)  # fmt: skip
READ = (
    "/proc/keys", "/proc/kcore", "/proc/kpageflags", "/proc/slabinfo", "/proc/timer_list", "/proc/1/environ",
    "/proc/1/maps", "/proc/1/mem", "/proc/1/root", "/proc/1/fd/0", "/etc/shadow", "/etc/passwd", "/etc/gitexcludes",
    ".env", ".skills_runtime_sdk/secret", "/dev/kmsg", "/dev/tty", "/dev/console", "/sys/kernel",
)  # fmt: skip
UNSHARED = {"user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "net": 0x40000000}


def main() -> None:
    """Look around and tell."""
    library = ctypes.CDLL(None, use_errno=True)
    seen = {
        "mounts": sorted(_mounts()),
        "status": _status(),
        "files": _files(),
        "variables": {name: value for name, value in os.environ.items() if name != "LC_CTYPE"},
        "descriptors": sorted(int(name) for name in _names("/proc/self/fd"))[:-1],
        "host": socket.gethostname(),
        "session": os.getsid(0) == os.getpid(),
        "group": os.getpgid(0) == os.getpid(),
        "parent": os.getppid(),
        "limits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if "RLIMIT_" in name},
        "mask": os.umask(0o22),
        "directory": str(Path.cwd()),
        "niceness": os.getpriority(os.PRIO_PROCESS, 0),
        "sacrifice": Path("/proc/self/oom_score_adj").read_text(),
        "network": _network(),
        "most users": Path("/proc/sys/user/max_user_namespaces").read_text(),
        "processes": sorted(int(name) for name in _names("/proc") if name.isdigit() and int(name) < 3),
        "unshared": {name: _number(library.unshare(flag)) for name, flag in UNSHARED.items()},
        "mounted": _number(library.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None)),
        "unmounted": _number(library.umount2(b"/usr", 2)),
        "written": {path: _outcome(lambda path=path: _write(path)) for path in WRITTEN},
        "read": {path: _outcome(lambda path=path: _read(path)) for path in READ},
        "namespaces": {name: str(Path(f"/proc/self/ns/{name}").readlink()) for name in sorted(_names("/proc/self/ns"))},
        "keeper": Path("/proc/1/comm").read_text().strip(),
    }
    json.dump(seen, sys.stdout)


def _mounts() -> list[tuple[str, str, str, str]]:
    """Where, how, of which kind, and with which settings of its own; its mode is seen at the directory itself."""
    found: list[tuple[str, str, str, str]] = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        point, options = before.split()[4:6]
        kind, _, settings = after.split(" ", 2)
        found.append(
            (point, options, kind, ",".join(sorted(one for one in settings.split(",") if not one.startswith("mode="))))
        )
    return found


def _status() -> dict[str, str]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines) if name in TOLD}


def _files() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for directory in OWN:
        if Path(directory).is_dir():
            for path in (Path(directory), *sorted(Path(directory).iterdir())):
                one = path.lstat()
                link = str(path.readlink()) if stat.S_ISLNK(one.st_mode) else ""
                found[str(path)] = (oct(one.st_mode), one.st_uid, one.st_gid, one.st_rdev, link)
    return found


def _network() -> dict[str, Any]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        request = b"lo".ljust(40, b"\0")
        flags = fcntl.ioctl(asking, 0x8913, request)[16:18].hex()
        try:
            address = socket.inet_ntoa(fcntl.ioctl(asking, 0x8915, request)[20:24])
        except OSError as error:
            address = str(error.errno)
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    six = [line.split()[0] for line in Path("/proc/net/if_inet6").read_text().splitlines()]
    return {
        "flags": flags,
        "address": address,
        "six": six,
        "names": sorted(line.split(":")[0].strip() for line in lines),
    }


def _number(result: int) -> str:
    return "done" if result == 0 else errno.errorcode[ctypes.get_errno()]


def _outcome(attempt: Callable[[], str]) -> str:
    try:
        return attempt()
    except OSError as error:
        return errno.errorcode[error.errno or 0]


def _names(directory: str) -> list[str]:
    return [path.name for path in Path(directory).iterdir()]


def _write(path: str) -> str:
    with open(path, "ab") as file:
        file.write(b"")
    return "done"


def _read(path: str) -> str:
    if Path(path).is_dir():
        return f"a directory with {len(_names(path))} entries"
    with open(path, "rb") as file:
        return f"{len(file.read(64))} bytes"


if __name__ == "__main__":
    main()
