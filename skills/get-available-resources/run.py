"""Report the resources of this machine: a JSON object in, a JSON object out."""

import json
import os
import platform
import shutil
import sys
from pathlib import Path

RESERVE = 0.8
"""Share of the free memory to plan with."""


def main() -> int:
    """Read the request from stdin and print the resources."""
    try:
        request = json.loads(sys.stdin.read() or "{}")
    except ValueError as error:
        print(f"the input is not JSON: {error}", file=sys.stderr)
        return 2
    path = request.get("path") if isinstance(request, dict) else None
    report = resources(str(path or os.environ.get("SKILLS_RUNTIME_SDK_WORKSPACE_ROOT") or Path.cwd()))
    text = json.dumps(report, ensure_ascii=False, indent=2)
    save(text)
    print(text)
    return 0


def resources(path: str) -> dict:
    """Return all resources."""
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
    """Return the number of processors, and of those this process may use."""
    logical = os.cpu_count()
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else logical
    quota = cpu_quota()
    if quota is not None and usable is not None:
        usable = max(1, min(usable, int(quota)))
    try:
        load = [round(value, 2) for value in os.getloadavg()]
    except (OSError, AttributeError):
        load = None
    return {"logical": logical, "usable": usable, "quota": quota, "load_average": load}


def cpu_quota() -> "float | None":
    """Return how many processors a container may use."""
    words = text_of("/sys/fs/cgroup/cpu.max").split()
    if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]):
        return round(int(words[0]) / int(words[1]), 2)
    return None


def memory_of() -> dict:
    """Return the total and the available memory."""
    fields = meminfo()
    total, free = fields.get("MemTotal"), fields.get("MemAvailable")
    if total is None and hasattr(os, "sysconf"):
        total = pages("SC_PHYS_PAGES")
        free = pages("SC_AVPHYS_PAGES")
    limit, used = number_of("/sys/fs/cgroup/memory.max"), number_of("/sys/fs/cgroup/memory.current")
    if limit is not None:
        left = max(0, limit - (used or 0))
        free = left if free is None else min(free, left)
    return {"total_bytes": total, "available_bytes": free, "limit_bytes": limit}


def meminfo() -> dict:
    """Return the memory figures of Linux in bytes."""
    fields = {}
    for line in text_of("/proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if words and words[0].isdigit():
            fields[name] = int(words[0]) * 1024
    return fields


def pages(name: str) -> "int | None":
    """Return a memory size of `sysconf` in bytes."""
    try:
        number = os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None
    return number if number > 0 else None


def disk(path: str) -> dict:
    """Return the file system of a directory."""
    try:
        usage = shutil.disk_usage(path)
    except OSError as error:
        return {"path": path, "total_bytes": None, "free_bytes": None, "error": error.strerror}
    return {"path": path, "total_bytes": usage.total, "free_bytes": usage.free}


def accelerators() -> list:
    """List compute devices by their device files."""
    kinds = {"nvidia": "nvidia[0-9]*", "amd": "kfd", "habana": "hl[0-9]*"}
    return [
        {"kind": kind, "device": str(device)}
        for kind, pattern in kinds.items()
        for device in sorted(Path("/dev").glob(pattern))
    ]


def advice(cpu: dict, memory: dict) -> dict:
    """Suggest a number of workers and their memory."""
    workers = cpu["usable"] or 1
    free = memory["available_bytes"]
    return {
        "workers": workers,
        "memory_bytes_per_worker": int(free * RESERVE / workers) if free is not None else None,
    }


def text_of(path: str) -> str:
    """Return the text of a system file; empty if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def number_of(path: str) -> "int | None":
    """Return the number in a system file; None if there is no limit."""
    text = text_of(path).strip()
    return int(text) if text.isdigit() else None


def save(text: str) -> None:
    """Write the answer as an artifact, where possible."""
    directory = Path(__file__).resolve().parent / "artifacts"
    try:
        directory.mkdir(exist_ok=True)
        (directory / "resources.json").write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        print(f"could not save the answer as a file: {error.strerror}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
