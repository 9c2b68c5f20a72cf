"""Agents with a scripted model and tools that misbehave on request."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from skills_runtime.agent import Agent
from skills_runtime.events import Event
from skills_runtime.llm import FakeChatCall, ScriptedBackend
from skills_runtime.ports import (
    ApprovalRequest,
    Approver,
    Backend,
    ChatRequest,
    ChatStreamEvent,
    DecisionKind,
    Effect,
    HumanIO,
    Inbox,
    ToolCall,
    ToolContext,
    ToolResult,
    ToolSpec,
)
from skills_runtime.runs import RunPaths, read_events

Work = Callable[[Mapping[str, Any], ToolContext], Awaitable[Any]]


def says(*pieces: str, usage: Mapping[str, int] | None = None) -> FakeChatCall:
    """An answer of text."""
    end = ChatStreamEvent(type="completed", finish_reason="stop", usage=usage)
    return FakeChatCall([*(ChatStreamEvent(type="text_delta", text=piece) for piece in pieces), end])


def calls(*wanted: tuple[str, Mapping[str, Any] | str], ids: Sequence[str] = (), text: str = "") -> FakeChatCall:
    """An answer that calls tools; arguments given as text go out as they are."""
    batch = [
        ToolCall(
            id=ids[number] if ids else f"call_{name}_{number}",
            name=name,
            arguments=arguments if isinstance(arguments, str) else json.dumps(arguments),
        )
        for number, (name, arguments) in enumerate(wanted)
    ]
    pieces = [ChatStreamEvent(type="text_delta", text=text)] if text else []
    end = ChatStreamEvent(type="completed", finish_reason="tool_calls")
    return FakeChatCall([*pieces, ChatStreamEvent(type="tool_calls", tool_calls=batch), end])


def writes(path: str, content: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """A call of file_write."""
    return "file_write", {"path": path, "content": content, **more}


class Watched:
    """Passes requests on to a scripted model and remembers them."""

    def __init__(self, answers: Iterable[FakeChatCall]) -> None:
        self.requests: list[ChatRequest] = []
        self._script = ScriptedBackend(answers)

    def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream the next answer."""
        self.requests.append(request)
        return self._script.stream_chat(request)


class Streaming:
    """A model whose stream is a function of the test."""

    def __init__(self, stream: Callable[[ChatRequest], AsyncIterator[ChatStreamEvent]]) -> None:
        self._stream = stream

    def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream whatever the test says."""
        return self._stream(request)


class Doing:
    """A tool that does what the test says."""

    def __init__(self, work: Work, *, name: str = "do", effect: Effect = "effectful") -> None:
        self.spec = ToolSpec(name=name, description="Does it.", parameters={"type": "object"}, effect=effect)
        self.times = 0
        self._work = work

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Do it."""
        self.times += 1
        return await self._work(arguments, context)


async def succeed(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    """Work that is no work."""
    return ToolResult(ok=True, stdout="done")


class Answering:
    """An approver that gives its answers in order, and remembers what it was asked."""

    def __init__(self, *decisions: Any) -> None:
        self.asked: list[ApprovalRequest] = []
        self._decisions = list(decisions)

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
        """Give the next answer."""
        self.asked.append(request)
        return self._decisions.pop(0)


def agent_in(
    place: Path,
    backend: Backend | Iterable[FakeChatCall],
    *,
    mode: str = "allow",
    settings: Mapping[str, Any] | None = None,
    approver: Approver | None = None,
    human: HumanIO | None = None,
    inbox: Inbox | None = None,
    hooks: Iterable[Callable[[Event], None]] = (),
) -> Agent:
    """An agent whose workspace is `place`; the gate lets everything pass unless told otherwise."""
    return Agent(
        workspace_root=place,
        backend=ScriptedBackend(backend) if isinstance(backend, Iterable) else backend,
        session_settings={"safety": {"mode": mode}, **(settings or {})},
        approval_provider=approver,
        human_io=human,
        inbox=inbox,
        event_hooks=hooks,
    )


def events_of(locator: str) -> list[Event]:
    """The events of the run whose log this is."""
    return list(read_events(RunPaths(Path(locator).parent)))


def payloads_of(locator: str, event_type: str) -> list[Any]:
    """The payloads of one type, in order."""
    return [event.payload for event in events_of(locator) if event.type == event_type]
