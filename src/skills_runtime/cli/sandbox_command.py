"""One command in the sandbox: the policy that is asked for, its streams, its evidence, and how all that is told.

No settings are read here, least of all those of the workspace: a command line says all there is to know. Nothing of
this process's environment is passed on, and the command never gets the streams themselves.
"""

import asyncio
import os
import select
import stat
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from skills_runtime.cli.errors import say
from skills_runtime.cli.interrupts import interrupts
from skills_runtime.errors import EXIT_CODES, AccessRefused, SkillsRuntimeError, ValidationFailed
from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes import Finished, Limits, Stream, execute_plan
from skills_runtime.processes.execute import Outflow
from skills_runtime.sandbox import Fence, ResourceLimits, SandboxPolicy
from skills_runtime.sandbox.adapter import Capabilities, Enclosed
from skills_runtime.sandbox.policy import PROMISES, Gap
from skills_runtime.storage import write_atomic
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.sandbox import Fence, ResourceLimits, SandboxPolicy
    from skills_runtime.sandbox.egress import Account, Doorman, EgressRecord

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
MEBIBYTE = 1 << 20
MAX_VARIABLES = 2000
"""Each is three words to bubblewrap, which takes 9000 in all and needs some for everything else."""
MOST_WAITING = 1 << 20
"""Bytes that may wait for whoever reads; beyond them the command is made to wait."""
NUMBERS: Mapping[Stream, int] = {"stdout": 1, "stderr": 2}
PIECE = 1 << 16
GRACE_SECONDS = 0.3
MAX_DECISIONS = 1000
"""How many decisions are told one by one; all are counted."""
HIDDEN = "•••"


class EvidenceFile:
    """Where evidence goes: a name in a directory that is held open."""

    def __init__(self, path: Path, directory: int) -> None:
        self._path = path
        self._directory = directory

    def write(self, data: bytes) -> None:
        """Put a file with this content under the name; raises when the directory is no longer where it was."""
        write_atomic(self._path.name, data, mode=0o666, durable=False, dir_fd=self._directory)
        if not _is_at(self._path.parent, self._directory):
            raise AccessRefused(
                f"the command has moved the directory of `{self._path}`, so what is there now is not the evidence",
                hint="name a file outside the workspace",
            )


@contextmanager
def evidence_file(path: str | None) -> Generator[EvidenceFile | None]:
    """The file for evidence, refused before anything is started if it cannot be written; nothing without a path."""
    if path is None:
        yield None
        return
    if not path.strip() or path.endswith("/") or "\0" in path:
        raise ValidationFailed("`--evidence` does not name a file", hint="give the path of a file")
    place = Path(os.path.abspath(path))
    directory = os.open(place.parent, _DIRECTORY)
    try:
        _refuse_unwritable(place, directory)
        yield EvidenceFile(place, directory)
    finally:
        os.close(directory)


def _refuse_unwritable(path: Path, directory: int) -> None:
    try:
        found = os.stat(path.name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        found = None
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise ValidationFailed(f"`{path}` is no ordinary file, so evidence is not written to it", hint="name another")
    if not os.access(path.parent, os.W_OK):
        raise AccessRefused(f"no file can be made beside `{path}`", hint="check who may write there")


def _is_at(path: Path, directory: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(directory))
    except OSError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceOptions:
    """Which sandbox is asked for; limits that are not given are those of the profile."""

    workspace: str = "."
    profile: str = "workspace-write"
    adapter: str = "auto"
    bwrap: str = "bwrap"
    accept_gap: Sequence[str] = ()
    timeout: float | None = None
    memory: int | None = None
    processes: int | None = None
    disk: int | None = None
    allow_host: Sequence[str] = ()
    allow_private_host: Sequence[str] = ()
    deny_host: Sequence[str] = ()


def fence_from(options: FenceOptions) -> "tuple[Fence, SandboxPolicy]":
    """The fence for these options, and the policy it keeps."""
    import msgspec

    from skills_runtime.errors import ValidationFailed
    from skills_runtime.sandbox import Fence, adapters_named, policy_for, profile_named
    from skills_runtime.sandbox.policy import promise_named

    profile = profile_named(options.profile)
    if profile == "danger":
        raise ValidationFailed("the profile `danger` is no sandbox", hint="run the command without `sandbox exec`")
    if _hosts(options) and profile == "workspace-write":
        profile = "workspace-net"
    given = _path(options.workspace)
    policy = policy_for(profile, given.resolve(), None if profile == "build" else _careful())
    policy = msgspec.structs.replace(
        policy,
        limits=_changed(policy.limits, options),
        aliases=(given,) if given != policy.workspace else (),
        hidden=_hidden(policy.workspace),
        accepted_gaps=frozenset(map(promise_named, options.accept_gap)),
        **_network(options),
    )
    adapters = adapters_named(options.adapter, bubblewrap=options.bwrap)
    return Fence(policy, adapters, {}), policy


def _hosts(options: FenceOptions) -> bool:
    return bool(options.allow_host or options.allow_private_host)


def _network(options: FenceOptions) -> "dict[str, Any]":
    """The allow-list, with any profile that somebody names hosts for; a list that names none lets nothing pass."""
    if not _hosts(options) and not options.deny_host and options.profile != "workspace-net":
        return {}
    from skills_runtime.ports import Egress
    from skills_runtime.sandbox.egress.gateway import policy_of

    egress = Egress(
        allow=tuple(options.allow_host),
        allow_private=tuple(options.allow_private_host),
        deny=tuple(options.deny_host),
    )
    policy_of(egress)  # refuses a rule that cannot be used, also where it would change nothing
    listed = _hosts(options) or options.profile == "workspace-net"
    return {"network": "allow-list", "egress": egress} if listed else {}


def _hidden(workspace: Path) -> tuple[Path, ...]:
    """What the runtime keeps for this user; it can lie only in a directory that holds a whole home."""
    from skills_runtime.sandbox import own_directories

    if workspace not in (home := Path.home().resolve(), *home.parents):
        return ()
    from skills_runtime.config.environment import process_environ

    return own_directories(workspace, process_environ())


def _path(text: str) -> Path:
    from skills_runtime.errors import ValidationFailed

    if not text.strip() or "\0" in text:
        raise ValidationFailed("`--workspace` does not name a usable path", hint="give the path of a directory")
    return Path(os.path.abspath(text))


def variables_of(assignments: Sequence[str]) -> dict[str, str]:
    """The variables that the options name."""
    from skills_runtime.errors import ValidationFailed

    variables: dict[str, str] = {}
    for assignment in assignments:
        name, separator, value = assignment.partition("=")
        if not name or not separator:
            raise ValidationFailed("`--setenv` needs a name and a value", hint="write `--setenv NAME VALUE`")
        variables[name] = value
    if len(variables) > MAX_VARIABLES:
        raise ValidationFailed(
            f"a command gets no more than {MAX_VARIABLES:,} variables, and these are {len(variables):,}",
            hint="put them into a file in the workspace",
        )
    return variables


def _careful() -> "ResourceLimits":
    from skills_runtime.sandbox import CAREFUL

    return CAREFUL


def _changed(limits: "ResourceLimits", options: FenceOptions) -> "ResourceLimits":
    import msgspec

    from skills_runtime.errors import ValidationFailed

    given = {
        "wall_seconds": options.timeout,
        "memory_bytes": options.memory and options.memory * MEBIBYTE,
        "processes": options.processes,
        "disk_bytes": options.disk and options.disk * MEBIBYTE,
    }
    if any(value is not None and value < 0 for value in given.values()):
        raise ValidationFailed("a limit cannot be negative", hint="0 means that there is none")
    changes = {name: value or None for name, value in given.items() if value is not None}
    if "wall_seconds" in changes:
        seconds = options.timeout
        changes["cpu_seconds"] = int(seconds) + 2 if seconds else None
    return msgspec.structs.replace(limits, **changes)


class Outlet:
    """What may still be written, and what waits to be; made and used by the task that runs the command."""

    def __init__(
        self, allowed: int | None, *, broken: Callable[[], object], numbers: Mapping[Stream, int] = NUMBERS
    ) -> None:
        self._left = allowed
        self._numbers = numbers
        self._broken = broken
        self._loop = asyncio.get_running_loop()
        self._pieces: SimpleQueue[tuple[int, bytes]] = SimpleQueue()
        self._waiting = 0
        self._begun = False
        self._failure: OSError | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self.room = asyncio.Event()
        """Set while more can be taken."""
        self.room.set()

    def write(self, stream: Stream, data: bytes) -> None:
        """Take more to write, in order; raises `OSError` when an earlier piece could not be written."""
        self.check()
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        if not data:
            return
        if not self._begun:
            self._begun = True
            # Writing may block for ever; then this process ends without waiting for it.
            threading.Thread(target=self._work, daemon=True).start()
        self._waiting += len(data)
        self._idle.clear()
        if self._waiting > MOST_WAITING:
            self.room.clear()
        self._pieces.put((self._numbers[stream], data))

    def check(self) -> None:
        """Raise what went wrong with writing, if something did."""
        if self._failure is not None:
            raise self._failure

    async def finish(self, stop: asyncio.Event) -> None:
        """Wait until everything is written, or cannot be, or nobody wants to wait any more."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self._idle, stop)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()

    def _work(self) -> None:
        while True:
            number, data = self._pieces.get()
            failure: OSError | None = None
            try:
                _write_all(number, data)
            except OSError as error:
                failure = error
            with suppress(RuntimeError):  # nobody waits any more
                self._loop.call_soon_threadsafe(self._written, len(data), failure)

    def _written(self, size: int, failure: OSError | None) -> None:
        self._waiting -= size
        if failure is not None and self._failure is None:
            self._failure = failure
            self._broken()
        if self._waiting <= MOST_WAITING:
            self.room.set()
        if not self._waiting or self._failure is not None:
            self._idle.set()


def _write_all(number: int, data: bytes) -> None:
    """Write all of it, also where the descriptor was given to this process as one that never blocks."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(number, rest) :]
        except BlockingIOError:
            poll = select.poll()
            poll.register(number, select.POLLOUT)
            poll.poll()


async def pass_through(
    plan: SandboxPlan,
    doorman: "Callable[[], Doorman]",
    *,
    wall_seconds: float | None,
    output_bytes: int | None,
    stop: asyncio.Event | None = None,
) -> Finished:
    """Run the planned command until nothing of it is left; the doorman is made where it has a network."""
    stop = stop or asyncio.Event()
    outlet = Outlet(output_bytes, broken=stop.set)
    read_end, write_end = os.pipe()
    try:
        # Reading from what this process was given may block for ever, so nobody waits for it.
        threading.Thread(target=_feed, args=(write_end,), daemon=True).start()
        limits = Limits(
            wall_seconds=wall_seconds, output_bytes=0, grace_seconds=GRACE_SECONDS, total_bytes=output_bytes
        )
        finished = await execute_plan(
            plan, limits, doorman, on_output=Outflow(outlet.write, outlet.room), stop=stop, source=read_end
        )
    except SkillsRuntimeError:
        await outlet.finish(stop)
        raise
    finally:
        os.close(read_end)
    await outlet.finish(stop)
    outlet.check()
    return finished


def _feed(write_end: int) -> None:
    try:
        while piece := _read():
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(write_end, rest) :]
    except OSError:  # the command reads no more, or there is nothing to read from
        return
    finally:
        os.close(write_end)


def _read() -> bytes:
    """What comes next, also where the descriptor was given to this process as one that never blocks."""
    while True:
        try:
            return os.read(0, PIECE)
        except BlockingIOError:
            poll = select.poll()
            poll.register(0, select.POLLIN)
            poll.poll()


class Visits:
    """Hears of every decision; nobody can be asked about a host, for the terminal belongs to the command."""

    def __init__(self) -> None:
        self._account: Account | None = None
        self._decisions: list[EgressRecord] = []

    def doorman(self) -> "Doorman":
        """Who hears of every decision."""
        from skills_runtime.sandbox.egress import Account, Doorman

        self._account = Account()
        return Doorman(record=self._hear)

    def added_to(self, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        """The evidence of the fence, with the decisions."""
        if self._account is None:
            return evidence
        import msgspec

        decisions = [msgspec.to_builtins(one) for one in self._decisions]
        return {**evidence, "network": {**self._account.summary(), "decisions": decisions}}

    def _hear(self, record: "EgressRecord") -> None:
        if self._account is not None:
            self._account.add(record)
        if len(self._decisions) < MAX_DECISIONS:
            self._decisions.append(record)


def run_command(
    fence: Fence, policy: SandboxPolicy, command: Sequence[str], assignments: Sequence[str], evidence: str | None
) -> int:
    """Run a command in the sandbox with the streams of this process; the exit code is its own."""
    request = ProcessRequest(argv=tuple(command), cwd=policy.workspace, environment=variables_of(assignments))
    plan = fence.plan(request)
    limits = policy.limits
    visits = Visits()
    with evidence_file(evidence) as file:
        finished = asyncio.run(_run(plan, visits, limits))
        if file is not None:
            file.write(_evidence(visits.added_to(plan.evidence), finished))
    return _told(finished, limits.wall_seconds)


async def _run(plan: SandboxPlan, visits: Visits, limits: ResourceLimits) -> Finished:
    stop = asyncio.Event()
    with interrupts(lambda: None) as interruption:
        waiting = asyncio.ensure_future(interruption.wait())
        waiting.add_done_callback(lambda _: stop.set())
        try:
            return await pass_through(
                plan,
                visits.doorman,
                wall_seconds=limits.wall_seconds,
                output_bytes=limits.output_bytes,
                stop=stop,
            )
        finally:
            waiting.cancel()


def _told(finished: Finished, wall_seconds: float | None) -> int:
    """The exit code, after a word about a command that was not let go on."""
    if finished.ended_by == "timeout":
        say(f"the command was ended after {wall_seconds:g} s", kind="timeout", hint="`--timeout` gives it more time")
        return EXIT_CODES["timeout"]
    if finished.ended_by in ("output_limit", "resource_limit"):
        limit = finished.exceeded or "output"
        say(
            f"the command was ended: it went beyond its limit of {limit}",
            kind="sandbox_denied",
            hint=(f"`--{limit}` gives it more" if limit in ("memory", "disk") else "write to a file instead"),
        )
        return EXIT_CODES["sandbox_denied"]
    if finished.exit_code is not None:
        return finished.exit_code
    return 128 + (finished.signal or 0)


def _evidence(promised: Mapping[str, Any], finished: Finished) -> bytes:
    evidence = {
        **promised,
        "ended_by": finished.ended_by,
        "exceeded": finished.exceeded,
        "duration_ms": finished.duration_ms,
        "counted": dict(finished.counted),
    }
    return msgspec.json.format(msgspec.json.encode(evidence)) + b"\n"


def plan_values(plan: SandboxPlan, enclosed: Enclosed) -> dict[str, Any]:
    """The plan as values for programs; of variables only the names are told."""
    enclosure = plan.enclosure
    return {
        "argv": list(plan.argv),
        "options": [" ".join(group) for group in _grouped(_without_values(enclosed.options))],
        "placeholders": list(enclosure.placeholders),
        "control_groups": [
            {"parent": group.parent, "settings": dict(group.settings)} for group in enclosure.control_groups
        ],
        "evidence": dict(plan.evidence),
    }


def write_plan(values: Mapping[str, Any], out: TextIO) -> None:
    """Write it for a person."""
    evidence = values["evidence"]
    out.write(f"{readable_line(' '.join(values['argv']))}\n")
    _write_list("options", values["options"], out)
    _write_list("kept free while it runs", values["placeholders"], out)
    groups = [f"{group['parent']}: {_settings(group['settings'])}" for group in values["control_groups"]]
    _write_list("control groups", groups, out)
    out.write(f"profile {evidence['profile']} by {evidence['adapter']} ({evidence['version']})\n")
    out.write(f"policy {evidence['policy']}\npromises: {', '.join(evidence['promises'])}\n")
    _write_list("gaps", evidence["gaps"], out)


def write_state(capabilities: Sequence[Capabilities], gaps: Sequence[Gap], out: TextIO) -> None:
    """Write what works on a machine, what is missing, and how to change that."""
    for one in capabilities:
        state = "works" if one.works else "does not work"
        out.write(f"{one.adapter}: {state}{f' ({one.version})' if one.version else ''}\n")
        if not one.works:
            out.write(f"  problem: {readable_line(one.problem)}\n  fix: {readable_line(one.fix)}\n")
    if not any(one.works for one in capabilities):
        return
    broken = {gap.promise for gap in gaps if not gap.partial}
    _write_list("promises", [f"{name}: {text}" for name, text in PROMISES.items() if name not in broken], out)
    _write_list("gaps", [f"{gap}{f' (fix: {gap.fix})' if gap.fix else ''}" for gap in gaps], out)


def _settings(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in settings.items())


def _write_list(heading: str, lines: Sequence[str], out: TextIO) -> None:
    if lines:
        out.write(f"{heading}:\n")
    for line in lines:
        out.write(f"  {readable_line(line)}\n")


def _without_values(options: Sequence[str]) -> list[str]:
    shown = list(options)
    for place, word in enumerate(options):
        if word == "--setenv" and place + 2 < len(shown):
            shown[place + 2] = HIDDEN
    return shown


def _grouped(options: Sequence[str]) -> Iterator[list[str]]:
    """Each option with what belongs to it."""
    group: list[str] = []
    for word in options:
        if word.startswith("--") and group:
            yield group
            group = []
        group.append(word)
    if group:
        yield group
