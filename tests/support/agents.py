"""Agents with a scripted model, misbehaving tools, small context windows, and users who answer at once."""

import json
import os
import resource
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from skills_runtime.agent import Agent
from skills_runtime.errors import LogLocked, ModelError, ToolError
from skills_runtime.events import Event
from skills_runtime.llm import FakeChatCall
from skills_runtime.ports import (
    ApprovalRequest,
    Approver,
    Backend,
    ChatRequest,
    ChatStreamEvent,
    ChildStatus,
    DecisionKind,
    Effect,
    HumanIO,
    Inbox,
    InboxKind,
    InboxMessage,
    Question,
    ToolCall,
    ToolContext,
    ToolResult,
    ToolSpec,
)
from skills_runtime.runs import RunPaths, read_events
from skills_runtime.testing import FakeModel, says

Work = Callable[[Mapping[str, Any], ToolContext], Awaitable[Any]]


def calls(*requested: tuple[str, Mapping[str, Any] | str], ids: Sequence[str] = (), text: str = "") -> FakeChatCall:
    """Return an answer that calls tools; arguments given as text are sent unchanged."""
    batch = [
        ToolCall(
            id=ids[number] if ids else f"call_{name}_{number}",
            name=name,
            arguments=arguments if isinstance(arguments, str) else json.dumps(arguments),
        )
        for number, (name, arguments) in enumerate(requested)
    ]
    pieces = [ChatStreamEvent(type="text_delta", text=text)] if text else []
    end = ChatStreamEvent(type="completed", finish_reason="tool_calls")
    return FakeChatCall([*pieces, ChatStreamEvent(type="tool_calls", tool_calls=batch), end])


def writes(path: str, content: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """Return a call of file_write."""
    return "file_write", {"path": path, "content": content, **more}


class Streaming:
    """A model whose stream is a function of the test."""

    def __init__(self, stream: Callable[[ChatRequest], AsyncIterator[ChatStreamEvent]]) -> None:
        self._stream = stream

    def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream what the test's function returns."""
        return self._stream(request)


class Doing:
    """A tool that runs a function of the test."""

    def __init__(self, work: Work, *, name: str = "do", effect: Effect = "effectful") -> None:
        self.spec = ToolSpec(name=name, description="Does it.", parameters={"type": "object"}, effect=effect)
        self.times = 0
        self._work = work

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Run the function."""
        self.times += 1
        return await self._work(arguments, context)


async def succeed(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    """Return a successful result."""
    return ToolResult(ok=True, stdout="done")


class Answering:
    """An approver that gives its answers in order, and records its requests."""

    def __init__(self, *decisions: Any) -> None:
        self.asked: list[ApprovalRequest] = []
        self._decisions = list(decisions)

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
        """Return the next answer."""
        self.asked.append(request)
        return self._decisions.pop(0)


def agent_in(
    directory: Path,
    backend: Backend | Iterable[FakeChatCall],
    *,
    mode: str = "allow",
    settings: Mapping[str, Any] | None = None,
    approver: Approver | None = None,
    human: HumanIO | None = None,
    inbox: Inbox | None = None,
    hooks: Iterable[Callable[[Event], None]] = (),
) -> Agent:
    """Return an agent with the workspace `place`; its policy allows everything by default."""
    return Agent(
        workspace_root=directory,
        backend=FakeModel(backend) if isinstance(backend, Iterable) else backend,
        session_settings={"safety": {"mode": mode}, **(settings or {})},
        approval_provider=approver,
        human_io=human,
        inbox=inbox,
        event_hooks=hooks,
    )


def events_of(locator: str) -> list[Event]:
    """Return the events of the log."""
    return list(read_events(RunPaths(Path(locator).parent)))


def payloads_of(locator: str, event_type: str) -> list[Any]:
    """Return the payloads of one type, in order."""
    return [event.payload for event in events_of(locator) if event.type == event_type]


MAX_CHILD_ID_CHARS = 64


class Brood:
    """The sub-agents of a tool's context: one file each below `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def spawn(self, message: str, *, call_id: str, agent_type: str = "") -> ChildStatus:
        """Create a file with the task."""
        return self._leave("child_1", message)

    async def wait(self, ids: Sequence[str], *, timeout_ms: int | None = None) -> Sequence[ChildStatus]:
        """Report all of them as done."""
        return [ChildStatus(id=text, status="completed", final_output="done") for text in ids]

    async def send(self, child_id: str, message: str) -> ChildStatus:
        """Create a file with the message."""
        return self._leave(child_id, message)

    async def resume(self, child_id: str) -> ChildStatus:
        """Create a file that records the call."""
        return self._leave(child_id, "resumed")

    async def close(self, child_id: str) -> ChildStatus:
        """Create a file that records the call."""
        return self._leave(child_id, "closed")

    def _leave(self, child_id: str, text: str) -> ChildStatus:
        # The id names a file, so it must fit into a file name.
        if not (child_id.isascii() and child_id.isidentifier()) or len(child_id) > MAX_CHILD_ID_CHARS:
            raise ToolError("not_found", "there is no such agent")
        (self._root / f"{child_id}.agent").write_text(text, errors="replace")
        return ChildStatus(id=child_id, status="running")


ENOUGH = 20
SUMMARY = "The sea was looked at, and it is blue."


class SmallWindow:
    """Gives scripted answers to requests that are not too long.

    `refusals` are the numbers of requests, from 0, that are refused however short they are; `window_chars` refuses
    those that are longer. `summaries` are the answers to requests for a summary, `None` for one that fails.
    """

    def __init__(
        self,
        answers: Iterable[FakeChatCall],
        *,
        window_chars: int = 1_000_000,
        refusals: Iterable[int] = (),
        summaries: Sequence[str | None] = (SUMMARY,),
        usage: Mapping[str, int] | None = None,
    ) -> None:
        self.requests: list[ChatRequest] = []
        """Requests for an answer, including refused ones."""
        self.compactions: list[ChatRequest] = []
        """Requests for a summary."""
        self._answers = list(answers)
        self._window = window_chars
        self._refusals = set(refusals)
        self._summaries = summaries
        self._usage = usage

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Answer, summarize or refuse."""
        for event in self._summary(request) if request.purpose == "compaction" else self._answer(request):
            yield event

    def _answer(self, request: ChatRequest) -> Iterable[ChatStreamEvent]:
        number = len(self.requests)
        self.requests.append(request)
        if number in self._refusals or length_of(request) > self._window:
            raise ModelError("the conversation is too long", kind="context_length_exceeded")
        return self._answers[request.answered].events

    def _summary(self, request: ChatRequest) -> Iterable[ChatStreamEvent]:
        text = self._summaries[min(len(self.compactions), len(self._summaries) - 1)]
        self.compactions.append(request)
        assert len(self.compactions) < ENOUGH, "the run compacts for ever"
        if text is None:
            raise ModelError("no summary today", kind="server_error", retryable=True)
        end = ChatStreamEvent(type="completed", finish_reason="stop", usage=self._usage)
        return [ChatStreamEvent(type="text_delta", text=text), end]


def length_of(request: ChatRequest) -> int:
    """Return the number of characters in the conversation."""
    return sum(len(str(message)) for message in request.messages)


def spoken_to(request: ChatRequest) -> list[Any]:
    """Return the contents of the user messages, in order."""
    return [message["content"] for message in request.messages if message["role"] == "user"]


class Person:
    """A user who gives the prepared answers in order, repeats the last one, and records the questions."""

    def __init__(self, *answers: str) -> None:
        self.asked: list[Question] = []
        self._answers = answers

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        """Return the next answer."""
        self.asked.append(question)
        return self._answers[min(len(self.asked), len(self._answers)) - 1]


class Flaky:
    """An inbox whose operations fail as often as requested, like a busy database."""

    def __init__(self, inbox: Inbox, *, pending: int = 0, acknowledge: int = 0) -> None:
        self._inbox = inbox
        self._left = {"pending": pending, "acknowledge": acknowledge}

    def send(
        self, run_id: str, kind: InboxKind, body: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> InboxMessage:
        """Store a message."""
        return self._inbox.send(run_id, kind, body, idempotency_key=idempotency_key)

    def pending(self, run_id: str) -> Sequence[InboxMessage]:
        """Return the messages not acknowledged yet, unless it fails."""
        self._fail("pending")
        return self._inbox.pending(run_id)

    def acknowledge(self, message_id: str, *, event_seq: int) -> None:
        """Acknowledge the message, unless it fails."""
        self._fail("acknowledge")
        self._inbox.acknowledge(message_id, event_seq=event_seq)

    def _fail(self, operation: str) -> None:
        if self._left[operation]:
            self._left[operation] -= 1
            raise LogLocked("the ledger is busy")


MEGABYTE = 1 << 20


class Measured(msgspec.Struct, kw_only=True):
    """Resources that a run needed."""

    status: str
    memory: int
    """Maximum growth of the process."""
    request: int
    """Length of the longest request, without its tools."""
    log: int
    """Size of the log in bytes."""
    tools: int = 0
    blobs: int = 0
    """Total size of the blobs in bytes."""


def measure(say: IO[bytes], hear: IO[bytes], directory: Path, what: str) -> None:
    """Run one of the functions below and return what it needed; called in a child."""
    os.environ["XDG_STATE_HOME"] = str(directory / "state")
    (directory / "workspace").mkdir()
    watched = _small(directory / "warm")  # what every first run needs is not counted
    before = _peak()
    agent, watched, task = _CASES[what](directory / "workspace")
    result = agent.run(task)
    root = Path(result.wal_locator).parent
    measured = Measured(
        status=result.status,
        memory=_peak() - before,
        request=max(sum(len(str(message)) for message in request.messages) for request in watched.requests),
        log=(root / "events.jsonl").stat().st_size,
        tools=len(watched.requests[-1].tools),
        blobs=sum(path.stat().st_size for path in (root / "blobs").rglob("*") if path.is_file()),
    )
    assert len(events_of(result.wal_locator)) > 4
    say.write(msgspec.json.encode(measured))


def _small(directory: Path) -> FakeModel:
    directory.mkdir()
    watched = FakeModel([calls(("do", {})), says("done")])
    agent = agent_in(directory, watched)
    agent.register_tool(Doing(succeed))
    agent.run("Go.")
    return watched


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def _flood(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    text = f"{arguments['n']}{'ü' * (5 * MEGABYTE)}"
    return ToolResult(ok=True, stdout=text, data={"small": 1})


def _results(directory: Path) -> tuple[Agent, FakeModel, str]:
    watched = FakeModel([*(calls(("flood", {"n": n})) for n in range(5)), says("done")])
    agent = agent_in(directory, watched)
    agent.register_tool(Doing(_flood, name="flood", effect="read"))
    return agent, watched, "Go."


def _tools(directory: Path) -> tuple[Agent, FakeModel, str]:
    watched = FakeModel([*(calls((f"tool_{n}", {})) for n in range(0, 1000, 100)), says("done")])
    agent = agent_in(directory, watched)
    for number in range(1000):
        agent.register_tool(Doing(succeed, name=f"tool_{number}", effect="read"))
    return agent, watched, "Go."


def _task(directory: Path) -> tuple[Agent, FakeModel, str]:
    watched = FakeModel([*(calls(("file_read", {"path": "x"})) for _ in range(20)), says("done")])
    agent = agent_in(directory, watched, settings={"run": {"context_recovery": {"window_tokens": 10_000_000}}})
    return agent, watched, "任务 " * (MEGABYTE // 7)


def _arguments(directory: Path) -> tuple[Agent, FakeModel, str]:
    content = "x" * (10 * MEGABYTE)
    watched = FakeModel([calls(("file_write", {"path": "a.txt", "content": content})), says("done")])
    return agent_in(directory, watched), watched, "Go."


def _answer(directory: Path) -> tuple[Agent, FakeModel, str]:
    watched = FakeModel([says(*("x" * 1000 for _ in range(4 * 1024)))])
    return agent_in(directory, watched), watched, "Go."


_CASES: dict[str, Callable[[Path], tuple[Agent, FakeModel, str]]] = {
    "results": _results,
    "tools": _tools,
    "task": _task,
    "arguments": _arguments,
    "answer": _answer,
}
