"""The outside of a process that waits behind a fence: starts it, gives it one execution at a time, and ends it."""

import asyncio
import json
import os
import shutil
import socket
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import Any

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.executions.fresh import MakeFence
from skills_runtime.executions.jobs import Ended, Job, Sinks, Stop, sealed_input
from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes import Finished, Limits, command_of, execute
from skills_runtime.processes.descriptors import Reader

ADAPTER = "bubblewrap"
"""Only behind this fence is a process alone with what it started."""
WORK = "work"
READY_SECONDS = 20.0
PATIENCE_SECONDS = 1.0
"""How long a process may take to report after it was told to end an execution."""
MAX_MESSAGE = 1 << 16
END = b"e"


class Unusable(Exception):
    """No process can be kept waiting behind this fence, so each execution gets a fence of its own."""


@cache
def _text() -> str:
    return (Path(__file__).parent / "inside" / "zygote.py").read_text(encoding="utf-8")


class Zygote:
    """A process that waits behind a fence, and the only directory it may write."""

    def __init__(self, directory: Path, plan: SandboxPlan) -> None:
        self.directory = directory
        self.work = directory / WORK
        self.isolation = plan.evidence
        self._plan = plan
        self._own: frozenset[str] = frozenset()
        self._prepared = False
        self._answer: asyncio.Future[dict[str, Any]] | None = None
        self._finished: asyncio.Task[Finished] | None = None
        self._control: socket.socket
        self.usable = False

    @classmethod
    async def start(
        cls, directory: Path, fence: MakeFence, python: str, readable: tuple[Path, ...] = ()
    ) -> "Zygote":
        """A new one, ready; raises `Unusable` where the fence is not fit for it."""
        directory.mkdir(mode=0o700)
        zygote: Zygote | None = None
        try:
            request = ProcessRequest(argv=(python, "-c", _text()), cwd=directory, readable=readable)
            plan = fence(directory).plan(request)
            if plan.evidence.get("adapter") != ADAPTER or plan.egress is not None:
                raise Unusable(f"the fence is {plan.evidence.get('adapter')}")
            zygote = cls(directory, plan)
            await zygote._begin()
        except BaseException:
            if zygote is not None:
                await zygote.close()
            shutil.rmtree(directory, ignore_errors=True)
            raise
        return zygote

    async def _begin(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        loop = asyncio.get_running_loop()
        limits = Limits(wall_seconds=None, output_bytes=8192, grace_seconds=0)
        self._finished = loop.create_task(
            execute(command_of(self._plan), limits, source=theirs.fileno(), on_start=theirs.close)
        )
        self._finished.add_done_callback(lambda _: (theirs.close(), self._gone()))
        loop.add_reader(self._control, self._hear)
        self._answer = loop.create_future()
        try:
            async with asyncio.timeout(READY_SECONDS):
                answer = await self._answer
        except TimeoutError:
            answer = {}
        if "ready" not in answer:
            raise Unusable(self._said())
        self._own = frozenset(os.listdir(self.directory))  # noqa: PTH208 - names are all that is wanted
        self.usable = True

    async def run(self, job: Job, sinks: Sinks, stop: Stop) -> Ended:
        """Have one execution done; nothing is left of it afterwards, but what it wrote into its directory."""
        loop = asyncio.get_running_loop()
        self.usable = False
        self._answer = answer = loop.create_future()
        with ExitStack() as resources:
            readers = self._send(job, sinks, resources)
            timer = loop.call_later(job.timeout_ms / 1000, stop.set, "timeout")
            resources.callback(timer.cancel)
            stop.on(self._end)
            told = await self._outlast(answer)
            for reader, sink in readers:
                for piece in reader.drain():
                    sink.feed(piece)
        self.usable = bool(told.get("usable")) and self._is_clean()
        finished = await self._result() if "exited" not in told else None
        exceeded = finished.exceeded if finished else None
        return Ended(
            ended_by=stop.reason or ("exit" if "exited" in told else "resource_limit" if exceeded else "lost"),
            exit_code=told.get("exited"),
            exceeded=exceeded,
            isolation=self.isolation,
            warm=True,
        )

    async def close(self) -> None:
        """End it with everything behind its fence."""
        self.usable = False
        if self._finished is not None:
            asyncio.get_running_loop().remove_reader(self._control)
            self._control.close()
            self._finished.cancel()
            with suppress(asyncio.CancelledError, SkillsRuntimeError):
                await self._finished
        shutil.rmtree(self.directory, ignore_errors=True)

    def _send(self, job: Job, sinks: Sinks, resources: ExitStack) -> "list[tuple[Reader, Any]]":
        """Hand over the streams and what to run; raises `Unusable` when nobody is there to take them."""
        message = {
            "argv": job.argv,
            "script": job.script,
            "cwd": str(job.cwd),
            "environment": dict(job.environment),
        }
        data = json.dumps(message).encode()
        if len(data) > MAX_MESSAGE:
            raise Unusable("the environment is too long for a message")
        readers: list[tuple[Reader, Any]] = []
        with ExitStack() as theirs:
            streams = [sealed_input(job.stdin)]
            theirs.callback(os.close, streams[0])
            for sink in (sinks.stdout, sinks.stderr):
                read_end, write_end = os.pipe()
                theirs.callback(os.close, write_end)
                resources.callback(os.close, read_end)
                reader = Reader(read_end, sink.feed)
                resources.callback(reader.stop)
                readers.append((reader, sink))
                streams.append(write_end)
            try:
                if job.script is not None and not self._prepared:
                    self._control.send(json.dumps({"cwd": str(job.cwd), "script": job.script}).encode())
                    self._prepared = True
                socket.send_fds(self._control, [data], streams)
            except OSError as error:
                raise Unusable(f"it is gone: {error.strerror}") from error
        return readers

    async def _outlast(self, answer: "asyncio.Future[dict[str, Any]]") -> dict[str, Any]:
        """What it tells at the end; a caller who gives up is heard only when the execution is over."""
        interruption: asyncio.CancelledError | None = None
        while not answer.done():
            try:
                await asyncio.wait([answer])
            except asyncio.CancelledError as error:
                interruption = error
                self._end()
        if interruption is not None:
            raise interruption
        return answer.result()

    async def _result(self) -> Finished | None:
        """How the fence ended, which has."""
        assert self._finished is not None, "it was started"
        with suppress(SkillsRuntimeError, asyncio.CancelledError):
            return await self._finished
        return None

    def _end(self) -> None:
        """End the execution: what waits behind the fence does it, and if it does not, the fence falls."""
        answer = self._answer
        if answer is None or answer.done() or self._finished is None:
            return
        with suppress(OSError):
            self._control.send(END)
        loop = asyncio.get_running_loop()
        finished = self._finished
        timer = loop.call_later(PATIENCE_SECONDS, finished.cancel)
        answer.add_done_callback(lambda _: timer.cancel())

    def _hear(self) -> None:
        try:
            data = self._control.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._control)
            return  # the end of the process is told by whoever started it, when all of it is gone
        self._tell(json.loads(data))

    def _gone(self) -> None:
        self.usable = False
        self._tell({})

    def _tell(self, message: dict[str, Any]) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(message)

    def _is_clean(self) -> bool:
        """Whether nothing was left beside the work itself, which is put away by its owner."""
        return frozenset(os.listdir(self.directory)) == self._own | {WORK}  # noqa: PTH208

    def _said(self) -> str:
        if self._finished is None or not self._finished.done() or self._finished.cancelled():
            return "it did not become ready"
        error = self._finished.exception()
        if error is not None:
            return str(error)
        return self._finished.result().stderr.text().strip()[-500:] or "it ended at once"
