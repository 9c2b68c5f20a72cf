"""One job of an execution: the program of a skill's entry, its environment and streams, and a new process for it."""

import asyncio
import fcntl
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from skills_runtime.errors import SandboxError, ValidationFailed
from skills_runtime.executions.inside.zygote import NICENESS
from skills_runtime.executions.values import StreamSize
from skills_runtime.ports import ProcessRequest, Sandbox, SandboxPlan
from skills_runtime.processes import Limits, execute_plan
from skills_runtime.sandbox.egress import EgressCallbacks
from skills_runtime.skills import EntryPoint, RunDefinition, Skill, find_entry_point
from skills_runtime.storage import write_all

MakeSandbox = Callable[[Path], Sandbox]
"""Builds the sandbox for everything that runs in a directory."""
MakeEgressCallbacks = Callable[[], EgressCallbacks]
"""Builds the callbacks that observe the network access of a skill."""
_SEAL_SEAL = 1

ARTIFACTS, SKILL, INPUT = "artifacts", "skill", "input.json"
"""Names in a stage directory: the copy of the skill, its artifacts, and its input."""
_INTERPRETER_PREFIXES = ("PYTHON", "LD_", "MALLOC_", "GLIBC_")
"""Prefixes of variables that a program reads only at its start, so a warm process cannot honor them."""


class Interpreter(msgspec.Struct, frozen=True):
    """A Python interpreter with the packages that a script needs."""

    program: str
    readable: tuple[Path, ...] = ()


class Packages(Protocol):
    """Provides the packages that scripts declare."""

    async def interpreter(self, skill: Skill, file: str) -> Interpreter | None:
        """Return the Python for a file of a skill; None if any Python will do."""
        ...


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """The command that starts a skill."""

    entry: EntryPoint
    argv: tuple[str, ...]
    readable: tuple[Path, ...] = ()

    @property
    def is_python(self) -> bool:
        """Return whether the entry is a Python script."""
        return self.entry.file.endswith(".py")


def require_run_definition(skill: Skill) -> RunDefinition:
    """Return the run definition of a skill; refuse one without `skill.yaml`."""
    if skill.run is None or skill.directory is None:
        raise ValidationFailed(
            f"the skill `{skill.name}` cannot be run by itself: it has no `skill.yaml`",
            hint=f"name it in a task: `skills-runtime run 'Use ${skill.name} …'`; a program needs a `skill.yaml`",
        )
    return skill.run


async def resolve_program(skill: Skill, packages: Packages | None) -> Program:
    """Resolve the command that starts the entry of a skill."""
    entry = find_entry_point(skill)
    if packages is not None and entry.file.endswith(".py"):
        interpreter = await packages.interpreter(skill, entry.file)
        if interpreter is not None:
            return Program(entry=entry, argv=(interpreter.program, entry.file), readable=interpreter.readable)
    return Program(entry=entry, argv=(entry.program, entry.file))


def build_environment(skill: Skill, execution_id: str, stage: Path, declared: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of an execution, in addition to the minimal one of every process."""
    work = f"{stage}/{SKILL}"
    return {
        "SKILLS_RUNTIME_SDK_WORKSPACE_ROOT": work,
        **declared,
        "SKILL_NAME": skill.run.name if skill.run is not None else skill.name,
        "SKILL_EXECUTION_ID": execution_id,
        "SKILL_ARTIFACTS_DIR": f"{work}/{ARTIFACTS}",
        "SKILL_INPUT_FILE": f"{stage}/{INPUT}",
        "SKILLS_RUNTIME_SDK_SKILL_MENTION": skill.mention.text,
        "SKILLS_RUNTIME_SDK_SKILL_ACTION_ID": "run",
        "SKILLS_RUNTIME_SDK_SKILL_BUNDLE_ROOT": work,
    }


def can_be_warm(run: RunDefinition, declared: Mapping[str, str]) -> bool:
    """Return whether a warm process can run this skill exactly like a new one."""
    alike = run.isolation == "copy" and not run.network
    return run.warm and alike and not any(name.startswith(_INTERPRETER_PREFIXES) for name in declared)


StopReason = Literal["timeout", "cancelled", "stdout_limit"]
EndedBy = Literal["exit", "timeout", "cancelled", "stdout_limit", "resource_limit", "lost"]
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_APPEND | os.O_CLOEXEC


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A process to start in a sandbox."""

    argv: tuple[str, ...]
    script: str | None
    """The Python file that a warm process can run itself."""
    workspace: Path
    """The only directory it may write."""
    cwd: Path
    environment: Mapping[str, str]
    """Variables in addition to the minimal environment."""
    readable: tuple[Path, ...] = ()
    stdin: bytes
    timeout_ms: int

    def with_argv(self, argv: tuple[str, ...]) -> "Job":
        """Return the same job with another command."""
        return msgspec.structs.replace(self, argv=argv)

    def __repr__(self) -> str:
        # Environment and input may hold secrets, and representations end up in logs.
        return f"Job(argv={self.argv!r}, cwd={str(self.cwd)!r})"


class JobOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a process ended; nothing it started is left."""

    ended_by: EndedBy
    exit_code: int | None
    exceeded: str | None = None
    isolation: Mapping[str, Any] = {}
    warm: bool = False
    note: str = ""
    """The runtime's explanation of an unexpected end."""


class Stop:
    """A request to end a process: the first reason counts, and callbacks run at once."""

    def __init__(self) -> None:
        self.reason: StopReason | None = None
        self._callbacks: list[Callable[[], None]] = []

    def set(self, reason: StopReason) -> None:
        """Request the end."""
        if self.reason is None:
            self.reason = reason
            for callback in self._callbacks:
                callback()

    def on_stop(self, callback: Callable[[], None]) -> None:
        """Call back when the end is requested, or now if it already is."""
        self._callbacks.append(callback)
        if self.reason is not None:
            callback()


class Sink:
    """Write a stream to a file up to a limit, and count the rest."""

    def __init__(self, path: Path | str, limit: int, *, on_overflow: Callable[[], None] = lambda: None) -> None:
        self._fd = os.open(path, _NEW_FILE, 0o600)
        self._limit = limit
        self._on_overflow = on_overflow
        self._total = 0
        self.content = bytearray()

    def feed(self, piece: bytes) -> None:
        """Write the next bytes."""
        available = self._limit - len(self.content)
        self._total += len(piece)
        if available > 0:
            part = piece[:available]
            self.content += part
            write_all(self._fd, part)
        if self.overflowed:
            self._on_overflow()

    @property
    def overflowed(self) -> bool:
        """Return whether the stream exceeded the limit."""
        return self._total > self._limit

    def size(self) -> StreamSize:
        """Return how much was written and stored."""
        return StreamSize(total=self._total, stored=len(self.content))

    def sync(self) -> None:
        """Sync the file."""
        if self._fd >= 0 and self.content:
            os.fsync(self._fd)

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Sinks:
    """Standard output and standard error of one process."""

    def __init__(self, stdout: Sink, stderr: Sink) -> None:
        self.stdout = stdout
        self.stderr = stderr

    def feed(self, stream: Literal["stdout", "stderr"], piece: bytes) -> None:
        """Write the next bytes of a stream."""
        (self.stdout if stream == "stdout" else self.stderr).feed(piece)

    def sync(self) -> None:
        """Sync both files."""
        self.stdout.sync()
        self.stderr.sync()

    def close(self) -> None:
        """Close both files."""
        self.stdout.close()
        self.stderr.close()


def create_sealed_input(data: bytes) -> int:
    """Return a sealed memory file with the input, readable and immutable, of any size."""
    fd = os.memfd_create("input", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        write_all(fd, data)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | _SEAL_SEAL)
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd


GRACE_SECONDS = 0.0
"""No grace period: the process has already been told to end."""
CAPTURED_BYTES = 4096


def refuse_network() -> EgressCallbacks:
    """Refuse network access: an open network needs callbacks that observe it."""
    raise SandboxError("the network of this execution has no callbacks", hint="pass `egress_callbacks` to the executor")


def plan_job(job: Job, make_sandbox: MakeSandbox) -> SandboxPlan:
    """Return the planned process, or raise the sandbox's refusal."""
    request = ProcessRequest(
        argv=job.argv, cwd=job.cwd, environment=job.environment, readable=job.readable, permissions="inherit"
    )
    return make_sandbox(job.workspace).plan(request)


async def run_fresh(
    job: Job, plan: SandboxPlan, sinks: Sinks, stop: Stop, egress_callbacks: MakeEgressCallbacks = refuse_network
) -> JobOutcome:
    """Run a job in a new process until nothing of it is left."""
    limits = Limits(
        wall_seconds=job.timeout_ms / 1000, output_bytes=CAPTURED_BYTES, grace_seconds=GRACE_SECONDS, niceness=NICENESS
    )
    stop_event = asyncio.Event()
    stop.on_stop(stop_event.set)
    source = create_sealed_input(job.stdin)
    try:
        finished = await execute_plan(
            plan, limits, egress_callbacks, on_output=sinks.feed, stop=stop_event, source=source
        )
    finally:
        os.close(source)
    ended_by: EndedBy = "exit"
    if finished.ended_by in ("cancelled", "output_limit"):
        ended_by = stop.reason or "cancelled"
    elif finished.ended_by in ("timeout", "resource_limit"):
        ended_by = finished.ended_by
    return JobOutcome(
        ended_by=ended_by,
        exit_code=finished.exit_code if finished.signal is None else -finished.signal,
        exceeded=finished.exceeded,
        isolation=plan.evidence,
    )
