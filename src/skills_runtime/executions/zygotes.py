"""Warm processes: each waits in its own sandbox for executions of one skill; a pool limits their number and age."""

import asyncio
import json
import os
import secrets
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

import msgspec

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.executions.jobs import Job, JobOutcome, MakeSandbox, Sink, Sinks, Stop, create_sealed_input
from skills_runtime.executions.values import PoolLimits
from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes import Finished, Limits, build_command, execute
from skills_runtime.storage import remove_tree

END_MESSAGE = b"e"
CHUNK_BYTES = 1 << 16
MAX_MESSAGE = 1 << 16
REPORT_TIMEOUT_SECONDS = 1.0
"""How long a process may take to report after it was told to end an execution."""
POLL_SECONDS = 0.5
"""How often a thread checks whether the execution should end."""


class ZygoteReport(msgspec.Struct, frozen=True):
    """The report of the process when an execution ended; empty when the process itself ended."""

    exited: int | None = None
    usable: bool = False
    ready: bool = False


class ZygoteChannel:
    """One end of the socket, used by one thread at a time."""

    def __init__(self, control: socket.socket, kill: Callable[[], None]) -> None:
        self._control = control
        self._kill = kill
        """Ends the whole sandbox, which closes the other end."""
        self._prepared = False

    def close(self) -> None:
        """Close the channel."""
        self._control.close()

    def is_ready(self, seconds: float) -> bool:
        """Return whether the process reported in time that it is ready."""
        readable, _, _ = select.select([self._control], [], [], seconds)
        if not readable:
            return False
        return self._receive().ready

    def run_job(self, job: Job, sinks: Sinks, stop: Stop) -> ZygoteReport | None:
        """Run an execution and pass on its output; return None if it was not started."""
        with ExitStack() as resources:
            reading: dict[int, Sink] = {}
            if not self._send(job, sinks, reading, resources):
                return None
            stop.on_stop(self._send_end)
            report = self._follow(reading, stop, time.monotonic() + job.timeout_ms / 1000)
            # Read what is still buffered in pipes without writers.
            for descriptor, sink in reading.items():
                os.set_blocking(descriptor, False)
                with suppress(BlockingIOError):
                    while piece := os.read(descriptor, CHUNK_BYTES):
                        sink.feed(piece)
            return report

    def _send(self, job: Job, sinks: Sinks, reading: dict[int, Sink], resources: ExitStack) -> bool:
        """Send the streams and the request; return False if no process receives them."""
        message = {"script": job.script, "argv": job.argv, "cwd": str(job.cwd), "environment": dict(job.environment)}
        data = json.dumps(message).encode()
        if len(data) > MAX_MESSAGE:
            return False
        with ExitStack() as theirs:
            streams = [create_sealed_input(job.stdin)]
            theirs.callback(os.close, streams[0])
            for sink in (sinks.stdout, sinks.stderr):
                read_end, write_end = os.pipe2(os.O_CLOEXEC)
                theirs.callback(os.close, write_end)
                resources.callback(os.close, read_end)
                reading[read_end] = sink
                streams.append(write_end)
            try:
                if job.script is not None and not self._prepared:
                    self._control.send(json.dumps({"cwd": str(job.cwd), "script": job.script}).encode())
                    self._prepared = True
                socket.send_fds(self._control, [data], streams)
            except OSError:
                return False
        return True

    def _follow(self, reading: dict[int, Sink], stop: Stop, deadline: float) -> ZygoteReport:
        """Pass on the streams until the process reports or exits."""
        poll, control = select.poll(), self._control.fileno()
        for descriptor in (*reading, control):
            poll.register(descriptor, select.POLLIN)
        patience: float | None = None
        while True:
            now = time.monotonic()
            if stop.reason is None and now >= deadline:
                stop.set("timeout")
            if stop.reason is not None:
                patience = patience or now + REPORT_TIMEOUT_SECONDS
                if now >= patience:
                    patience = now + POLL_SECONDS
                    self._kill()
            until = min(deadline if patience is None else patience, now + POLL_SECONDS)
            for descriptor, _ in poll.poll((until - now) * 1000 + 1):
                if descriptor == control:
                    return self._receive()
                piece = os.read(descriptor, CHUNK_BYTES)
                if piece:
                    reading[descriptor].feed(piece)
                else:
                    poll.unregister(descriptor)

    def _receive(self) -> ZygoteReport:
        try:
            data = self._control.recv(4096)
        except OSError:
            data = b""
        return msgspec.json.decode(data, type=ZygoteReport) if data else ZygoteReport()

    def _send_end(self) -> None:
        with suppress(OSError):
            self._control.send(END_MESSAGE)


ADAPTER = "bubblewrap"
"""Only this adapter isolates a process together with everything it starts."""
WORK = "work"
READY_SECONDS = 20.0


class Unusable(Exception):
    """No warm process can run in this sandbox, so each execution gets a new one."""


_BOOT = """\
import sys, types
sys.path[:1] = []
package = types.ModuleType("inside")
package.__path__, package.AT_START = [], frozenset(sys.modules)
sys.modules["inside"] = package
for name, text in zip(("scripts", "zygote"), sys.argv[1:]):
    module = sys.modules["inside." + name] = types.ModuleType("inside." + name)
    module.__package__ = "inside"
    setattr(package, name, module)
    exec(compile(text, name, "exec"), module.__dict__)
package.zygote.main()
"""
"""The bootstrap code; it imports nothing from its working directory, where skills will write."""


@cache
def zygote_sources() -> tuple[str, ...]:
    """Return the code for the interpreter in the sandbox, which may not be able to read our files."""
    inside = Path(__file__).parent / "inside"
    return (_BOOT, *((inside / name).read_text(encoding="utf-8") for name in ("scripts.py", "zygote.py")))


class Zygote:
    """A warm process in a sandbox, and the only directory it may write."""

    def __init__(self, directory: Path, plan: SandboxPlan) -> None:
        self.directory = directory
        self.work = directory / WORK
        self.isolation = plan.evidence
        self.usable = False
        self._plan = plan
        self._initial_names: frozenset[str] = frozenset()
        self._loop = asyncio.get_running_loop()
        self._finished: asyncio.Task[Finished] | None = None
        self._control, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel = ZygoteChannel(self._control, self._kill_sandbox)

    @classmethod
    async def start(
        cls, directory: Path, make_sandbox: MakeSandbox, python: str, readable: tuple[Path, ...] = ()
    ) -> "Zygote":
        """Start a warm process; raise `Unusable` if the sandbox does not suit."""
        directory.mkdir(mode=0o700)
        try:
            request = ProcessRequest(argv=(python, "-c", *zygote_sources()), cwd=directory, readable=readable)
            zygote = cls(directory, _require_isolated(make_sandbox(directory).plan(request)))
        except BaseException:
            remove_tree(directory, ignore_errors=True)
            raise
        try:
            await zygote._begin()
        except BaseException:
            await zygote.close()
            raise
        return zygote

    def run(self, job: Job, sinks: Sinks, stop: Stop) -> JobOutcome:
        """Run one execution in a thread; only its files in the work directory remain."""
        self.usable = False
        report = self._channel.run_job(job, sinks, stop)
        if report is None:
            raise Unusable("it is gone")
        # A process with leftovers beside the work directory is not reused; the owner removes the work itself.
        leftovers = (name for name in os.listdir(self.directory) if name != WORK)  # noqa: PTH208
        self.usable = report.usable and self._initial_names.issuperset(leftovers)
        exceeded = None if report.exited is not None else self._read_exceeded_limit()
        return JobOutcome(
            ended_by=stop.reason or ("resource_limit" if exceeded else "exit" if report.exited is not None else "lost"),
            exit_code=report.exited,
            exceeded=exceeded,
            isolation=self.isolation,
            warm=True,
        )

    async def close(self) -> None:
        """End the process with everything in its sandbox."""
        self.usable = False
        if self._finished is not None:
            self._finished.cancel()
            with suppress(asyncio.CancelledError, SkillsRuntimeError):
                await self._finished
        self._channel.close()
        self._theirs.close()
        await asyncio.to_thread(remove_tree, self.directory, ignore_errors=True)

    async def _begin(self) -> None:
        limits = Limits(wall_seconds=None, output_bytes=8192, grace_seconds=0)
        command = build_command(self._plan)
        self._finished = self._loop.create_task(
            execute(command, limits, source=self._theirs.fileno(), on_start=self._theirs.close)
        )
        # Until it has started, no one else would close the other end.
        self._finished.add_done_callback(lambda _: self._theirs.close())
        if not await asyncio.to_thread(self._channel.is_ready, READY_SECONDS):
            raise Unusable(await self._describe_start_failure())
        self._initial_names = frozenset(os.listdir(self.directory))  # noqa: PTH208 - names are all that is wanted
        self.usable = True

    def _kill_sandbox(self) -> None:
        """End the sandbox; called by the thread."""
        assert self._finished is not None, "it was started"
        self._loop.call_soon_threadsafe(self._finished.cancel)

    def _read_exceeded_limit(self) -> str | None:
        """Return the limit that the sandbox was ended for; known once all of it is gone."""
        assert self._finished is not None, "it was started"
        finished = self._finished

        async def wait() -> str | None:
            with suppress(asyncio.CancelledError, SkillsRuntimeError):
                return (await finished).exceeded
            return None

        return asyncio.run_coroutine_threadsafe(wait(), self._loop).result()

    async def _describe_start_failure(self) -> str:
        assert self._finished is not None, "it was started"
        self._finished.cancel()
        try:
            finished = await self._finished
        except (asyncio.CancelledError, SkillsRuntimeError) as error:
            return str(error) or "it did not become ready"
        return finished.stderr.text().strip()[-500:] or "it ended at once"


def _require_isolated(plan: SandboxPlan) -> SandboxPlan:
    """Return the plan; raise `Unusable` if the process would not be isolated or could use the network."""
    if plan.evidence.get("adapter") != ADAPTER or plan.egress is not None:
        raise Unusable(f"the sandbox is {plan.evidence.get('adapter')}")
    return plan


RETRY_SECONDS = 60.0
"""How long no warm process is started after one failed to start."""


class ZygoteKind(msgspec.Struct, frozen=True):
    """The skill version and interpreter that a warm process serves."""

    skill: str
    skill_digest: str
    policy: str
    python: str
    readable: tuple[Path, ...] = ()


class Pool:
    """The warm processes of one executor."""

    def __init__(self, stages: Path, make_sandbox: MakeSandbox, limits: PoolLimits) -> None:
        self._stages = stages
        self._make_sandbox = make_sandbox
        self._limits = limits
        self._idle: dict[Zygote, tuple[ZygoteKind, float]] = {}
        self._busy: dict[Zygote, ZygoteKind] = {}
        self._starting = 0
        self._closing: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._retry_at: dict[str, float] = {}
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Return the number of warm processes."""
        return len(self._idle) + len(self._busy) + self._starting

    def take_idle(self, kind: ZygoteKind) -> Zygote | None:
        """Return an idle process for exactly this kind; callable from any thread."""
        with self._lock:
            zygote = next(
                (
                    candidate
                    for candidate, (candidate_kind, _) in reversed(self._idle.items())
                    if candidate_kind == kind and candidate.usable
                ),
                None,
            )
            if zygote is not None:
                del self._idle[zygote]
                self._busy[zygote] = kind
            return zygote

    async def acquire(self, kind: ZygoteKind) -> Zygote:
        """Return a process for one execution; raise `Unusable` if there is none."""
        now = self._loop.time()
        # Processes prepared for an older version of the same skill are useless now.
        self._dismiss(
            [
                zygote
                for zygote, (idle_kind, _) in tuple(self._idle.items())
                if idle_kind.skill == kind.skill and idle_kind != kind
            ]
        )
        if (idle := self.take_idle(kind)) is not None:
            return idle
        if self._closed or now < self._retry_at.get(kind.python, 0.0):
            raise Unusable("no process is kept waiting now")
        if len(self._busy) + self._starting >= self._limits.warm:
            raise Unusable("as many processes are kept as may be")
        self._dismiss(list(self._idle)[: max(0, self.size + 1 - self._limits.warm)])
        return await self._start(kind)

    def release(self, zygote: Zygote) -> None:
        """Take a process back after its execution, from any thread; keep it idle or end it."""
        with self._lock:
            self._idle[zygote] = (self._busy.pop(zygote), self._loop.time())
            can_wait = zygote.usable and not self._closed and self._timer is not None
        if not can_wait:
            self._loop.call_soon_threadsafe(self._on_release, zygote)

    async def aclose(self) -> None:
        """End the idle processes; busy ones end when they are released."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._dismiss(list(self._idle))
        while self._closing:
            await asyncio.wait(self._closing)

    async def _start(self, kind: ZygoteKind) -> Zygote:
        self._starting += 1
        try:
            directory = self._stages / f"warm-{secrets.token_hex(8)}"
            zygote = await Zygote.start(directory, self._make_sandbox, kind.python, kind.readable)
        except Unusable:
            self._retry_at[kind.python] = self._loop.time() + RETRY_SECONDS
            raise
        finally:
            self._starting -= 1
        self._busy[zygote] = kind
        return zygote

    def _dismiss(self, zygotes: Iterable[Zygote]) -> None:
        for zygote in list(zygotes):
            with self._lock:
                if self._idle.pop(zygote, None) is None:
                    continue  # another execution took it
            task = self._loop.create_task(zygote.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def _on_release(self, zygote: Zygote) -> None:
        if self._closed or not zygote.usable:
            self._dismiss([zygote])
        else:
            self._watch()

    def _watch(self) -> None:
        if self._timer is None and self._idle:
            self._timer = self._loop.call_later(self._limits.idle_seconds, self._sweep)

    def _sweep(self) -> None:
        self._timer = None
        oldest = self._loop.time() - self._limits.idle_seconds
        self._dismiss(
            [zygote for zygote, (_, since) in tuple(self._idle.items()) if since <= oldest or not zygote.usable]
        )
        self._watch()
