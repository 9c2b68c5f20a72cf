"""What a fence promises, one word each, and the refusal when a promise that is required cannot be kept."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from skills_runtime.errors import SandboxError, ValidationFailed

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

ISOLATION: frozenset[Promise] = frozenset[Promise](
    {
        "fs_write", "fs_read", "protected_paths", "secrets", "network", "processes", "ipc", "terminal",
        "no_new_privileges", "capabilities", "system_calls", "devices", "environment", "descriptors",
        "wall_clock", "output", "core_dumps",
    }
)  # fmt: skip
"""What every fence must promise; limits of resources may be gaps, which every result tells."""

BOUNDED: frozenset[Promise] = ISOLATION | frozenset[Promise](
    ("memory", "process_count", "file_size", "open_files", "temporary_space")
)
"""What a fence must promise where somebody else's work runs on the same machine."""


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """A promise that is not kept: what that means, and what would change it."""

    promise: Promise
    text: str
    fix: str = ""
    partial: bool = False
    """The promise is kept but for what the text says."""

    def __str__(self) -> str:
        return f"{self.promise}: {self.text}"


NO_OWN_NETWORK = "this fence cannot give a command a network of its own, which an allow-list needs"


def unmet(required: frozenset[Promise], accepted: frozenset[Promise], gaps: tuple[Gap, ...]) -> tuple[Gap, ...]:
    """The gaps in what is required that nobody has accepted."""
    wanted = required - accepted
    return tuple(gap for gap in gaps if gap.promise in wanted and not gap.partial)


def refusal(adapter: str, missing: tuple[Gap, ...]) -> SandboxError:
    """The error that names the promises which cannot be kept, and says what to do."""
    names = ", ".join(f"`{gap.promise}`" for gap in missing)
    fixes = "; ".join(dict.fromkeys(gap.fix for gap in missing if gap.fix))
    return SandboxError(
        f"the sandbox cannot promise {names} here: {'; '.join(dict.fromkeys(gap.text for gap in missing))}",
        hint=fixes or "`skills-runtime sandbox doctor` tells what this machine can do",
        details={"adapter": adapter, "missing": [gap.promise for gap in missing]},
    )


def promise_named(name: str) -> Promise:
    """The promise with this name."""
    for known in PROMISES:
        if name == known:
            return known
    raise ValidationFailed(f"there is no promise `{name!a}`", hint=f"promises: {', '.join(PROMISES)}")
