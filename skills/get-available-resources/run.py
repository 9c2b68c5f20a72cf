"""Tells what this machine has to work with: reads a JSON object, writes a JSON object."""

import json
import os
import platform
import shutil
import sys
from pathlib import Path

RESERVE = 0.8
"""The share of the free memory that work should plan with."""


def main() -> int:
    """Read what is asked for, look, and answer."""
    try:
        wanted = json.loads(sys.stdin.read() or "{}")
    except ValueError as error:
        print(f"the input is not JSON: {error}", file=sys.stderr)
        return 2
    path = wanted.get("path") if isinstance(wanted, dict) else None
    found = resources(str(path or os.environ.get("SKILLS_RUNTIME_SDK_WORKSPACE_ROOT") or Path.cwd()))
    text = json.dumps(found, ensure_ascii=False, indent=2)
    keep(text)
    print(text)
    return 0


def resources(path: str) -> dict:
    """Everything that can be told."""
    cpu, memory = processors(), memory_of()
    return {
        "cpu": cpu,
        "memory": memory,
        "disk": disk(path),
        "accelerators": accelerators(),
        "platform": {
            "system": platform.system(),
            "release": platform.release(),
            "architecture": platform.machine(),
        },
        "python": {"version": platform.python_version(), "implementation": platform.python_implementation()},
        "advice": advice(cpu, memory),
    }


def processors() -> dict:
    """How many processors there are, and how many of them are ours."""
    logical = os.cpu_count()
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else logical
    quota = cpu_quota()
    if quota is not None and usable is not None:
        usable = max(1, min(usable, int(quota)))
    try:
        load = [round(one, 2) for one in os.getloadavg()]
    except (OSError, AttributeError):
        load = None
    return {"logical": logical, "usable": usable, "quota": quota, "load_average": load}


def cpu_quota() -> "float | None":
    """What a container may use at once."""
    words = text_of("/sys/fs/cgroup/cpu.max").split()
    if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]):
        return round(int(words[0]) / int(words[1]), 2)
    return None


def memory_of() -> dict:
    """The memory of the machine, and what of it can be had."""
    told = meminfo()
    total, free = told.get("MemTotal"), told.get("MemAvailable")
    if total is None and hasattr(os, "sysconf"):
        total = pages("SC_PHYS_PAGES")
        free = pages("SC_AVPHYS_PAGES")
    limit, used = number_of("/sys/fs/cgroup/memory.max"), number_of("/sys/fs/cgroup/memory.current")
    if limit is not None:
        left = max(0, limit - (used or 0))
        free = left if free is None else min(free, left)
    return {"total_bytes": total, "available_bytes": free, "limit_bytes": limit}


def meminfo() -> dict:
    """The numbers of Linux, in bytes."""
    told = {}
    for line in text_of("/proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if words and words[0].isdigit():
            told[name] = int(words[0]) * 1024
    return told


def pages(name: str) -> "int | None":
    """Memory as the system counts it, in bytes."""
    try:
        number = os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None
    return number if number > 0 else None


def disk(path: str) -> dict:
    """The file system that a directory is on."""
    try:
        usage = shutil.disk_usage(path)
    except OSError as error:
        return {"path": path, "total_bytes": None, "free_bytes": None, "error": error.strerror}
    return {"path": path, "total_bytes": usage.total, "free_bytes": usage.free}


def accelerators() -> list:
    """Devices that compute, by their files."""
    kinds = {"nvidia": "nvidia[0-9]*", "amd": "kfd", "habana": "hl[0-9]*"}
    return [
        {"kind": kind, "device": str(device)}
        for kind, pattern in kinds.items()
        for device in sorted(Path("/dev").glob(pattern))
    ]


def advice(cpu: dict, memory: dict) -> dict:
    """Numbers to begin with."""
    workers = cpu["usable"] or 1
    free = memory["available_bytes"]
    return {
        "workers": workers,
        "memory_bytes_per_worker": int(free * RESERVE / workers) if free is not None else None,
    }


def text_of(path: str) -> str:
    """What a file of the system says, or nothing."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def number_of(path: str) -> "int | None":
    """The number in a file of the system, unless it says that there is no limit."""
    text = text_of(path).strip()
    return int(text) if text.isdigit() else None


def keep(text: str) -> None:
    """Leave the answer behind as a file, where that is possible."""
    place = Path(__file__).resolve().parent / "artifacts"
    try:
        place.mkdir(exist_ok=True)
        (place / "resources.json").write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        print(f"the answer was not kept as a file: {error.strerror}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
