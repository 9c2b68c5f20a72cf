"""Runs and writers that hang, die or are copied at a chosen moment, and what must survive them.

`World` is one directory: the workspace with the run, what its tools did outside the log, and the inbox. A copy of it is
what a machine would find if the process had been killed at that moment.
"""

import asyncio
import itertools
import os
import random
import signal
import sys
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from types import CodeType, FrameType
from typing import IO, Any, Literal

import msgspec

from skills_runtime.agent import Agent, RunResult
from skills_runtime.agent.loop.inbox import finish_run_and_inbox, finish_run_and_inbox_async
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.engine import RunControl
from skills_runtime.errors import LogEnded
from skills_runtime.events import Event
from skills_runtime.events.payloads import (
    HumanRequest,
    LlmResponseDelta,
    PlanUpdated,
    RunCompleted,
    ToolCallFinished,
    ToolCallStarted,
)
from skills_runtime.events.states import RunStatus
from skills_runtime.executions import ExecutionLimits
from skills_runtime.executions.contract import request_digest
from skills_runtime.executions.jobs import JobOutcome, Stop, require_run_definition
from skills_runtime.executions.layout import ExecutionLayout, key_digest
from skills_runtime.executions.store import ExecutionIds, ExecutionRequest, ExecutionStore, StartedExecution
from skills_runtime.ledger import SqliteInbox, open_ledger
from skills_runtime.llm import FakeChatCall, ScriptedBackend
from skills_runtime.ports import (
    Backend,
    ChatRequest,
    ChatStreamEvent,
    Disk,
    InboxMessage,
    ToolContext,
    ToolResult,
    ToolSpec,
)
from skills_runtime.runs import RunPaths, check_id, is_legal_id, runs_root
from skills_runtime.runs.create import create_run
from skills_runtime.runs.run import Run, open_run
from skills_runtime.sandbox.supervision import process_tree
from skills_runtime.testing import FakeModel, FaultyDisk, says
from skills_runtime.testing.inbox import InMemoryInbox
from tests.support.agents import Doing, agent_in, calls, writes
from tests.support.runs import RUN_ID, ports_in, spec_in
from tests.unit.executions.samples import an_executor, find

CRASH_RUN_ID = "run_1"
STEERS = ("hurry", "be brief")
CONTENT = "geschrieben ü"

# Parallel reads, idempotent and effectful calls, some invalid ones, a message and a question.
SCRIPT = [
    calls(("look", {"n": 1}), ("look", {"n": 2}), text="Let me look."),
    calls(writes("a.txt", CONTENT), ("append", {"line": "one"}), ("no_such_tool", {}), ("file_read", {"path": 7})),
    calls(("charge", {"amount": 3}), ("nudge", {}), ("look", {"n": 3}), ids=["same", "nudge", "look"]),
    calls(("look", "{broken"), ("functions.look", "[]"), ("file_read", "")),
    calls(("look", {"n": 4}), ("ask_human", {"question": "Which colour?"}), ("look", {"n": 5})),
    calls(("append", {"line": "two"}), ("append", {"line": "three"}), ids=["same", "other"]),
    calls(writes("deliverables/report.md", "# Report"), text="Now the report."),
    says("All ", "done."),
]

CALLS = sum(len(event.tool_calls or ()) for answer in SCRIPT for event in answer.events)

Moment = Callable[[str], None]
"""Called at each possible point of death: after each event, and around each effect."""


def passes(name: str) -> None:
    """Do nothing."""


class Charge:
    """An effect whose tool can verify whether it happened."""

    spec = ToolSpec(
        name="charge",
        description="Charges the card.",
        parameters={"type": "object"},
        effect="effectful",
        recovery="verify",
    )

    def __init__(self, ledger: Path, moment: Moment) -> None:
        self._ledger = ledger
        self._moment = moment

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Charge."""
        self._moment("before charge")
        _add(self._ledger, f"{context.run_id} {context.call_id} {arguments['amount']}")
        self._moment("after charge")
        return ToolResult(ok=True, stdout="charged")

    async def verify(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult | None:
        """Check whether the charge exists."""
        there = f"{context.run_id} {context.call_id} {arguments['amount']}" in lines_in(self._ledger)
        return ToolResult(ok=True, stdout="charged") if there else None


class World:
    """Everything that outlives a process."""

    def __init__(self, directory: Path) -> None:
        self.workspace = directory / "workspace"
        self.effects, self.charges = directory / "effects.txt", directory / "charges.txt"
        self._ledger = directory / "ledger"
        self.paths = RunPaths(runs_root(self.workspace) / CRASH_RUN_ID)

    @contextmanager
    def inbox(self) -> Generator[SqliteInbox]:
        """The durable inbox as opened by one process."""
        with open_ledger(self._ledger, clock=SystemClock(), ids=RandomIds()) as ledger:
            yield ledger.inbox

    def agent(self, backend: Backend, inbox: SqliteInbox, moment: Moment = passes) -> Agent:
        """Return a fresh agent, as a new process would create it."""
        self.workspace.mkdir(exist_ok=True)

        def happened(event: Event) -> None:
            moment(event.type)

        agent = Agent(
            workspace_root=self.workspace,
            backend=backend,
            session_settings={"safety": {"mode": "allow"}},
            inbox=inbox,
            event_hooks=[happened],
        )
        agent.register_tool(Doing(_look, name="look", effect="read"))
        agent.register_tool(Doing(self._append(moment), name="append"))
        agent.register_tool(Doing(_nudge(inbox), name="nudge", effect="idempotent"))
        agent.register_tool(Charge(self.charges, moment))
        return agent

    def go_on(self, backend: Backend, moment: Moment = passes) -> RunResult | None:
        """Work on the run until it has ended, answering its questions; None if it had ended before."""
        with self.inbox() as inbox:
            inbox.send(CRASH_RUN_ID, "steer", {"text": STEERS[0]}, idempotency_key="first")
            desk = RunControl(inbox, log_ports())
            while True:
                try:
                    result = self.agent(backend, inbox, moment).run("Go.", run_id=CRASH_RUN_ID)
                except LogEnded:
                    return None
                if result.status != "waiting_human":
                    return result
                desk.answer(self.paths, "blue", key="answer")
                moment("answered")

    def _append(self, moment: Moment) -> Callable[[Mapping[str, Any], ToolContext], Any]:
        async def append(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
            moment("before append")
            _add(self.effects, str(arguments["line"]))
            moment("after append")
            return ToolResult(ok=True, stdout=f"appended {arguments['line']}")

        return append


async def _look(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    return ToolResult(ok=True, stdout=f"seen {arguments['n']}")


def _nudge(inbox: SqliteInbox) -> Callable[[Mapping[str, Any], ToolContext], Any]:
    async def nudge(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        inbox.send(context.run_id, "steer", {"text": STEERS[1]}, idempotency_key="nudge")
        return ToolResult(ok=True, stdout="nudged")

    return nudge


def lines_in(path: Path) -> list[str]:
    """Return the lines of a file; none when it is missing."""
    return path.read_text().splitlines() if path.exists() else []


def _add(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(f"{line}\n")


def moments_of(directory: Path, watched: FakeModel) -> list[str]:
    """Run the script without interruption and return the name of every moment."""
    names: list[str] = []
    result = World(directory).go_on(watched, names.append)
    assert result is not None
    assert result.status == "completed"
    return names


def die_at(say: IO[bytes], hear: IO[bytes], directory: Path, number: int) -> None:
    """Run the script until the moment with this number, and be killed there; called in a child."""
    os.environ["XDG_STATE_HOME"] = str(directory / "state")
    left = number

    def moment(name: str) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    with suppress(LogEnded):
        World(directory).go_on(ScriptedBackend(SCRIPT), moment)


Durability = Literal["written", "committed"]
Behaviour = Literal["mixed", "write", "commit", "commit on a lying disk", "keep without commit"]


class Acknowledged(msgspec.Struct, frozen=True):
    """A promise of the product: an event, how durable it is, and the bytes it refers to."""

    seq: int
    mac: str
    durability: Durability
    blob: str | None = None


class Writer:
    """Works on a run as an agent would, in a seeded order, and reports each promise."""

    def __init__(self, run: Run, say: IO[bytes], seed: int) -> None:
        self.run = run
        self._say = say
        self._random = random.Random(seed)

    def step(self, behaviour: Behaviour = "mixed") -> None:
        """Do one step and report it."""
        steps: dict[Behaviour, list[Callable[[], None]]] = {
            "mixed": [self.write, self.stream, self.commit, self.keep, self.change],
            "write": [self.write],
            "commit": [self.commit],
            "commit on a lying disk": [self.commit],
            "keep without commit": [self.mention],
        }
        self._random.choice(steps[behaviour])()

    def write(self) -> None:
        """Append without committing."""
        answer = "x" * self._random.randrange(2000)
        self._acknowledge(self.run.append(HumanRequest(call_id="c", question=answer)), "written")

    def stream(self) -> None:
        """Append several events at once, like a streamed answer."""
        for _ in range(self._random.randrange(1, 6)):
            self._acknowledge(self.run.append(LlmResponseDelta(delta_type="text", text="…")), "written")

    def commit(self) -> None:
        """Append and commit."""
        event = self.run.append(ToolCallStarted(call_id="c", tool="write"))
        self.run.commit()
        self._acknowledge(event, "committed")

    def keep(self) -> None:
        """Store bytes, refer to them, commit; sometimes the same bytes as before."""
        blob = self.run.put_blob(b"%d" % self._random.randrange(20) * self._random.choice([1, 3000]))
        event = self.run.append(ToolCallFinished(call_id="c", tool="write", result={"ok": True}, result_blob=blob))
        self.run.commit()
        self._acknowledge(event, "committed", blob)

    def mention(self) -> None:
        """Store bytes and refer to them without committing."""
        blob = self.run.put_blob(b"%d" % self._random.randrange(1000))
        event = self.run.append(ToolCallFinished(call_id="c", tool="write", result={"ok": True}, result_blob=blob))
        self._acknowledge(event, "written", blob)

    def change(self) -> None:
        """Change the state, which commits."""
        waiting = self.run.state.status is RunStatus.WAITING_FOR_TOOL
        events: list[Event] = []
        self.run.log.listen(events.append)
        self.run.change(RunStatus.WAITING_FOR_TOOL if self._running() and not waiting else RunStatus.RUNNING)
        self._acknowledge(events[0], "committed")

    def _running(self) -> bool:
        return self.run.state.status is RunStatus.RUNNING

    def _acknowledge(self, event: Event, durability: Durability, blob: str | None = None) -> None:
        self._say.write(msgspec.json.encode(Acknowledged(event.seq, event.mac, durability, blob)) + b"\n")


def create_or_open(directory: Path, run_id: str, *, disk: Disk | None = None) -> Run:
    """Create or open the run with this id below `place`."""
    spec = spec_in(directory, run_id=run_id)
    ports = ports_in(directory, disk=disk)
    return open_run(spec.root, ports) if spec.root.exists() else create_run(spec, ports)


def write_until_killed(say: IO[bytes], hear: IO[bytes], directory: Path, run_id: str, seed: int) -> None:
    """Write as fast as possible, until killed by the starter."""
    writer = Writer(create_or_open(directory, run_id), say, seed)
    while True:
        writer.step()


def create_until_killed(say: IO[bytes], hear: IO[bytes], directory: Path) -> None:
    """Create one run after another, until killed by the starter."""
    for number in itertools.count():
        create_or_open(directory, f"run_{number}").close()
        say.write(f"run_{number}\n".encode())


def end_until_killed(say: IO[bytes], hear: IO[bytes], directory: Path) -> None:
    """Create and end one run after another, until killed by the starter."""
    for number in itertools.count():
        run = create_or_open(directory, f"run_{number}")
        run.change(RunStatus.RUNNING)
        run.append(RunCompleted(final_output="done"))
        run.commit()
        say.write(f"run_{number}\n".encode())
        run.save()
        run.close()


def create_linked(say: IO[bytes], hear: IO[bytes], directory: Path) -> None:
    """Create and commit a run outside its workspace."""
    link = directory / "workspace" / ".skills_runtime_sdk" / "runs" / RUN_ID
    run = create_run(spec_in(directory, root=directory / "far" / "away" / "run", link=link), ports_in(directory))
    run.commit()
    run.close()


def write_in_step(
    say: IO[bytes], hear: IO[bytes], directory: Path, run_id: str, seed: int, behaviour: Behaviour
) -> None:
    """Open the run for the first line received, and do one step for each further line; send an empty line when done."""
    disk = FaultyDisk()
    if behaviour == "commit on a lying disk":
        disk.pretend_syncs()
    writer: Writer | None = None
    while hear.readline():
        if writer is None:
            writer = Writer(create_or_open(directory, run_id, disk=disk), say, seed)
        else:
            writer.step(behaviour)
        say.write(b"\n")


_BEGINNINGS: frozenset[CodeType] = frozenset({finish_run_and_inbox_async.__code__, finish_run_and_inbox.__code__})
_PLACES = ("/skills_runtime/agent/", "/skills_runtime/runs/")
_ELSEWHERE: frozenset[CodeType] = frozenset({check_id.__code__, is_legal_id.__code__})
"""Code that the inbox itself calls."""


class Killed(BaseException):
    """Raised when the process is killed."""


class Moments:
    """Counts every call of the runtime while a run ends, and acts at one of them.

    Only calls that lead to the end count: during a call of the inbox no one else can interfere.
    """

    def __init__(self, at: int, act: Callable[[], object]) -> None:
        self.count = 0
        self.at, self._act = at, act
        self._ending = self._busy = False

    def _see(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or self._busy:
            return
        self._ending = self._ending or frame.f_code in _BEGINNINGS
        where = frame.f_code.co_filename
        if not self._ending or frame.f_code in _ELSEWHERE or not any(package in where for package in _PLACES):
            return
        self.count += 1
        if self.count == self.at:
            self._busy = True
            self._act()
            self._busy = False

    @contextmanager
    def watched(self) -> Generator[None]:
        """Count the calls in this thread during the block."""
        before = sys.getprofile()
        sys.setprofile(self._see)
        try:
            yield
        finally:
            sys.setprofile(before)


class Sender:
    """Sends one message, and records whether it was accepted."""

    def __init__(self, send: Callable[[], InboxMessage]) -> None:
        self._send = send
        self.message: InboxMessage | None = None
        self.refusal: LogEnded | None = None

    def __call__(self) -> None:
        """Send it."""
        try:
            self.message = self._send()
        except LogEnded as error:
            self.refusal = error


class ClosingThen(InMemoryInbox):
    """An inbox that runs a function after it is closed for the first time."""

    def __init__(self, then: Callable[[], object]) -> None:
        super().__init__()
        self._then: Callable[[], object] | None = then

    def close_for(self, run_id: str, *, unless_behind: int | None = None) -> tuple[InboxMessage, ...]:
        """Close it; the function runs next."""
        messages = super().close_for(run_id, unless_behind=unless_behind)
        then, self._then = self._then, None
        if then is not None:
            then()
        return messages


def die() -> None:
    """Simulate the death of this process as far as a test can."""
    raise Killed


def texts(messages: Sequence[Any]) -> list[str]:
    """Return the texts of a log's messages."""
    return [message.body["text"] for message in messages if message.kind == "steer"]


TAG = "TEST_TAG"
Where = Literal["model", "async tool", "thread tool", "processes"]
PLACES: tuple[Where, ...] = ("model", "async tool", "thread tool", "processes")


class Hanging:
    """An agent whose run hangs once; whoever resumes it is not blocked."""

    def __init__(self, directory: Path, where: Where) -> None:
        self.arrived = asyncio.Event()
        """Set when the run hangs."""
        self.released = threading.Event()
        """Releases a thread, which nothing else can end."""
        self.left = 0
        """Number of tools that released their resources when cancelled."""
        self.told: list[ChatRequest] = []
        self.thread_gone = asyncio.Event()
        self.late: list[BaseException] = []
        """Errors of a thread that returned too late."""
        self._loop = asyncio.get_running_loop()
        self._tag = uuid.uuid4().hex
        self.environment = {TAG: self._tag}
        """Environment by which the processes of a command are found."""
        self._stuck = False
        self._ready = directory / "ready"
        self.agent = agent_in(directory, self, settings={"sandbox": {"default_policy": "none"}})
        self._script = ScriptedBackend([*self._first(where), says("done")])
        self._equip(self.agent)

    def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """The model."""
        self.told.append(request)
        return self._script.stream_chat(request) if self._scripted(request) else self._hang()

    def alive(self) -> list[int]:
        """Return the live processes of the run, whatever their parents are."""
        return [
            process.pid
            for process in process_tree.find_marked(process_tree.list_processes(), f"{TAG}={self._tag}".encode())
        ]

    def expect_word(self, fifo: Path) -> None:
        """Yield a pipe; the run counts as hanging once a command writes to it."""
        os.mkfifo(fifo)
        pipe = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)

        def read_word() -> None:
            self._loop.remove_reader(pipe)
            os.close(pipe)
            self.arrived.set()

        self._loop.add_reader(pipe, read_word)

    def _first(self, where: Where) -> list[FakeChatCall]:
        self._where = where
        if where == "model":
            return []
        if where != "processes":
            return [calls((where.replace(" ", "_"), {}))]
        self.expect_word(self._ready)
        command = "sleep 1000 & (sleep 1000 & setsid -f sleep 1000) & echo > ready; wait"
        return [calls(("shell_command", {"command": command, "env": self.environment}))]

    def _scripted(self, request: ChatRequest) -> bool:
        stuck, self._stuck = self._stuck, True
        return self._where != "model" or stuck

    async def _hang(self) -> AsyncIterator[ChatStreamEvent]:
        yield ChatStreamEvent(type="text_delta", text="well")
        self.arrived.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.left += 1

    def _equip(self, agent: Agent) -> None:
        agent.register_tool(Doing(self._wait, name="async_tool", effect="read"))

        @agent.tool(name="thread_tool")
        def wait(context: ToolContext) -> str:  # pyright: ignore[reportUnusedFunction]
            """Wait in a thread until released, then report."""
            self._loop.call_soon_threadsafe(self.arrived.set)
            self.released.wait(30)
            try:
                context.emit(PlanUpdated(call_id=context.call_id, plan=[]))
            except BaseException as error:
                self.late.append(error)
                raise
            finally:
                self._loop.call_soon_threadsafe(self.thread_gone.set)
            return "waited"

    async def _wait(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        if self.arrived.is_set():
            return ToolResult(ok=True, stdout="at once")
        self.arrived.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.left += 1
        raise AssertionError


INPUT = b'{"a": 1}'


class Promised(msgspec.Struct, frozen=True):
    """A promise to a caller: that an execution has started, or how it ended."""

    key: str
    execution_id: str
    status: str
    artifacts: tuple[str, ...] = ()
    stdout: str = ""


def keeper_of(disk: Path, stages: Path) -> ExecutionStore:
    """Return a store of the executions on a disk, for another working directory."""
    layout = ExecutionLayout(disk / "deep" / "executions")
    layout.make()
    return ExecutionStore(layout, ExecutionLimits(), stages)


def execution_request(skills: Path, key: str, *, keyed: bool = True) -> ExecutionRequest:
    """Build the request for an execution, with or without a key."""
    skill = find(skills)
    return ExecutionRequest(
        skill=skill,
        run=require_run_definition(skill),
        data=INPUT,
        request=request_digest(skill.mention.text, INPUT),
        timeout_ms=1000,
        key=key_digest(key) if keyed else None,
        ids=ExecutionIds(),
    )


def carry_out(say: IO[bytes], hear: IO[bytes], disk: Path, elsewhere: Path, seed: int, keyed: bool) -> None:
    """Run one execution for each line received, as the real runtime does except for the process itself."""
    keeper, chance = keeper_of(disk, elsewhere / "stages"), random.Random(seed)
    for number, _ in enumerate(hear):
        key = f"{seed}-{number}"
        request = execution_request(elsewhere, key, keyed=keyed)
        begun = keeper.begin(request, Stop())
        assert isinstance(begun, StartedExecution)
        _tell(say, Promised(key, begun.record.execution_id, "running"))
        if chance.random() < 0.8:
            _tell(say, _ended(keeper, begun, request, key, chance))
        say.write(b"\n")


def _ended(
    keeper: ExecutionStore, begun: StartedExecution, request: ExecutionRequest, key: str, chance: random.Random
) -> Promised:
    out = begun.stage / "skill" / "out" / "deep"
    out.mkdir(parents=True)
    (out / "file").write_bytes(chance.randbytes(2000))
    begun.sinks.feed("stdout", b"[%d]" % chance.randrange(1000))
    done = keeper.finish(begun, request, JobOutcome(ended_by="exit", exit_code=0))
    return Promised(key, done.id, done.status, tuple(artifact.sha256 for artifact in done.artifacts), done.stdout)


def _tell(say: IO[bytes], promised: Promised) -> None:
    say.write(msgspec.json.encode(promised) + b"\n")


AT_A_TIME = 3


def execute_until_killed(say: IO[bytes], hear: IO[bytes], root: Path, again: list[str], number: int) -> None:
    """Repeat unanswered requests, then send more; print each key when it is requested, and its answer."""
    del hear
    asyncio.run(_work(say, root, chain(again, (f"{number}-{index}" for index in count()))))


async def _work(say: IO[bytes], root: Path, keys: Iterator[str]) -> None:
    async with an_executor(root, concurrent=AT_A_TIME) as executor:
        skill = find(root)

        async def one_after_another() -> None:
            while True:
                key = next(keys)
                say.write(f"asked {key}\n".encode())
                done = await executor.execute(skill, {"key": key}, key=key, timeout_ms=60_000)
                say.write(f"answered {key} {done.id} {done.status}\n".encode())

        await asyncio.gather(*(one_after_another() for _ in range(AT_A_TIME)))
