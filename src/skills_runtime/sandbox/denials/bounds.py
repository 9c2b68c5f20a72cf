"""Which limit a command met, by what the kernel and its supervisor counted, or by its own words.

Pure.
"""

import re
import signal
from collections.abc import Iterator

from skills_runtime.sandbox.denials.values import Aftermath, Certainty, Denial, Grant, LimitName, RaisedLimit
from skills_runtime.sandbox.policy import SandboxPolicy

FACTOR = 2
"""A limit that was met is offered twice as high."""
MOST: dict[LimitName, int] = {"open_files": 1 << 20, "processes": 1 << 15}
"""Beyond which no kernel goes."""

_EXCEEDED: dict[str, LimitName] = {"memory": "memory_bytes", "disk": "disk_bytes", "output": "output_bytes"}
_WORDS: dict[LimitName, str] = {
    "memory_bytes": "of memory", "processes": "on the number of processes", "cpu_seconds": "of processor time",
    "file_bytes": "on the size of a file", "open_files": "on open files", "temporary_bytes": "of the private `/tmp`",
    "shared_memory_bytes": "of the private `/dev/shm`", "disk_bytes": "on what is written to the workspace",
    "disk_files": "on files made in the workspace", "output_bytes": "of output",
}  # fmt: skip
_SIGNALS: dict[int, LimitName] = {signal.SIGXFSZ: "file_bytes", signal.SIGXCPU: "cpu_seconds"}
_SAID: dict[LimitName, re.Pattern[str]] = {
    "file_bytes": re.compile(r"file too large|file size limit exceeded|\bEFBIG\b", re.IGNORECASE),
    "cpu_seconds": re.compile(r"cpu time limit exceeded", re.IGNORECASE),
    "processes": re.compile(
        r"\bfork: (?:retry: )?resource temporarily unavailable|cannot fork|can't start new thread"
        r"|pthread_create failed|BlockingIOError: \[Errno 11\]|spawn \S+ EAGAIN",
        re.IGNORECASE,
    ),
    "open_files": re.compile(r"too many open files|\bEMFILE\b", re.IGNORECASE),
    "memory_bytes": re.compile(
        r"^MemoryError\b|cannot allocate memory|std::bad_alloc|\bENOMEM\b|virtual memory exhausted",
        re.IGNORECASE | re.MULTILINE,
    ),
}
_FULL = re.compile(r"no space left on device|\bENOSPC\b", re.IGNORECASE)
_TEMPORARY = re.compile(r"/(?:var/)?tmp\b|temporary|template", re.IGNORECASE)


def limit_denials(aftermath: Aftermath, policy: SandboxPolicy) -> Iterator[Denial]:
    """The limits that stopped the command, each once."""
    told: set[LimitName] = set()
    for certainty, name in (*_proven(aftermath), *_suspected(aftermath)):
        if name not in told and getattr(policy.limits, name) is not None:
            told.add(name)
            yield _met(certainty, name, policy)


def _proven(aftermath: Aftermath) -> Iterator[tuple[Certainty, LimitName]]:
    if aftermath.exceeded is not None and aftermath.exceeded in _EXCEEDED:
        yield "proven", _EXCEEDED[aftermath.exceeded]
    if not aftermath.failed:
        return
    if aftermath.counted.get("out_of_memory_kills", 0) > 0:
        yield "proven", "memory_bytes"
    if aftermath.counted.get("process_limit_hits", 0) > 0:
        yield "proven", "processes"
    if aftermath.signal in _SIGNALS:
        yield "proven", _SIGNALS[aftermath.signal]


def _suspected(aftermath: Aftermath) -> Iterator[tuple[Certainty, LimitName]]:
    if not aftermath.failed:
        return
    text = aftermath.stderr or aftermath.stdout
    for number, name in _SIGNALS.items():
        if aftermath.died_of == number:
            yield "suspected", name
    for name, pattern in _SAID.items():
        if pattern.search(text):
            yield "suspected", name
    for line in text.splitlines():
        if _FULL.search(line):
            yield from _without_room(line if "/" in line else " ".join(aftermath.argv))


def _without_room(text: str) -> Iterator[tuple[Certainty, LimitName]]:
    """Which of the places that the fence bounds is full; a disk that is full is nobody's denial."""
    if "/dev/shm" in text:
        yield "suspected", "shared_memory_bytes"
    elif _TEMPORARY.search(text):
        yield "suspected", "temporary_bytes"


def _met(certainty: Certainty, name: LimitName, policy: SandboxPolicy) -> Denial:
    now: int = getattr(policy.limits, name)
    more = min(now * FACTOR, MOST.get(name, now * FACTOR))
    grant = Grant(limits=(RaisedLimit(name, more),)) if more > now else None
    verb = "met" if certainty == "proven" else "seems to have met"
    sentence = f"The command {verb} its limit {_WORDS[name]}, which is {now}."
    return Denial(certainty=certainty, what="limit", target=name, grant=grant, sentence=sentence)
