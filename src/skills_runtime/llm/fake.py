"""Scripted models and replay of recorded answers, for tests, demos and offline work.

A replay takes recorded answers as plain values; reading the run is up to the caller.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.errors import ConfigError, ModelError
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolCall
from skills_runtime.text import one_line

SCRIPTED = "scripted"
"""The name of a scripted model that has no other."""


class FakeChatCall(msgspec.Struct, frozen=True):
    """One scripted answer."""

    events: Sequence[ChatStreamEvent]


class FakeChatBackend:
    """Return scripted answers in order, one per request."""

    models = (SCRIPTED, SCRIPTED)

    def __init__(self, calls: Iterable[FakeChatCall]) -> None:
        self._calls = list(calls)
        self._next = 0

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream the next scripted answer."""
        index, self._next = self._next, self._next + 1
        for event in _script_events(self._calls, index):
            yield event


class ScriptedBackend:
    """Return the scripted answer that follows those the run has had, so that resumed runs continue correctly."""

    def __init__(
        self, calls: Iterable[FakeChatCall], *, compactions: Iterable[str] = (), model: str = SCRIPTED
    ) -> None:
        self.models = (model, model)
        """The names of planner and executor."""
        self._calls = list(calls)
        self._compactions = list(compactions)
        self._compacted = 0

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream the answer for this point of the run, or the next summary."""
        events = self._summary() if request.purpose == "compaction" else _script_events(self._calls, request.answered)
        for event in events:
            yield event

    def _summary(self) -> Iterable[ChatStreamEvent]:
        if not self._compactions:
            raise ModelError("the script has no summary", hint="add `compactions` to it")
        text = self._compactions[min(self._compacted, len(self._compactions) - 1)]
        self._compacted += 1
        yield ChatStreamEvent(type="text_delta", text=text)
        yield ChatStreamEvent(type="completed", finish_reason="stop")


def _script_events(calls: Sequence[FakeChatCall], index: int) -> Iterable[ChatStreamEvent]:
    if index >= len(calls):
        raise ModelError(
            f"the fake model has {len(calls)} answers and was asked for one more", hint="add a call to its script"
        )
    yield from calls[index].events
    if not any(event.type == "completed" for event in calls[index].events):
        yield ChatStreamEvent(type="completed", finish_reason="stop")


class _ScriptToolCall(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] = {}
    id: str = ""


class _ScriptCall(msgspec.Struct, forbid_unknown_fields=True):
    reasoning: str = ""
    text: str = ""
    tool_calls: list[_ScriptToolCall] = []
    finish_reason: str = ""
    usage: dict[str, int] = {}


class _Script(msgspec.Struct, forbid_unknown_fields=True):
    calls: list[_ScriptCall]
    compactions: list[str] = []
    model: str = SCRIPTED


def load_script(path: Path, data: bytes | None = None) -> ScriptedBackend:
    """Load a scripted model from a YAML file with `calls`, `compactions` and `model`, its name.

    Pass `data` if the file has been read already.
    """
    import yaml

    try:
        text = path.read_bytes() if data is None else data
        script = msgspec.convert(yaml.load(text, Loader=yaml.CSafeLoader), _Script)
    except FileNotFoundError:
        raise ConfigError(f"the fake model's script `{path}` does not exist", hint="fix `llm.fake.script`") from None
    except OSError as error:
        raise ConfigError(f"the fake model's script `{path}` cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"the fake model's script `{path}` is not YAML: {one_line(str(error))}") from error
    except msgspec.ValidationError as error:
        raise ConfigError(f"the fake model's script `{path}` is not a script: {error}") from error
    calls = (_build_call(number, call) for number, call in enumerate(script.calls))
    return ScriptedBackend(calls, compactions=script.compactions, model=script.model.strip() or SCRIPTED)


def _build_call(number: int, call: _ScriptCall) -> FakeChatCall:
    tool_calls = [
        ToolCall(
            id=tool_call.id or f"call_{number + 1}_{index + 1}",
            name=tool_call.name,
            arguments=msgspec.json.encode(tool_call.arguments).decode(),
        )
        for index, tool_call in enumerate(call.tool_calls)
    ]
    events = [ChatStreamEvent(type="reasoning_delta", text=call.reasoning)] if call.reasoning else []
    if call.text:
        events.append(ChatStreamEvent(type="text_delta", text=call.text))
    if tool_calls:
        events.append(ChatStreamEvent(type="tool_calls", tool_calls=tool_calls))
    reason = call.finish_reason or ("tool_calls" if tool_calls else "stop")
    return FakeChatCall([*events, ChatStreamEvent(type="completed", finish_reason=reason, usage=call.usage or None)])


class RecordedAnswer:
    """One complete answer of the recorded run."""

    def __init__(self, text: str, calls: Sequence[ToolCall]) -> None:
        self.text = text
        self.calls = tuple(calls)


class ReplayBackend:
    """Return recorded answers by how many the run has had, and recorded summaries in order."""

    def __init__(
        self,
        answers: Sequence[RecordedAnswer],
        *,
        compactions: Sequence[str] = (),
        models: tuple[str, str] = (SCRIPTED, SCRIPTED),
    ) -> None:
        self.models = models
        calls = (FakeChatCall(_replay_events(answer)) for answer in answers)
        self._script = ScriptedBackend(calls, compactions=compactions)

    def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream the recorded answer for this point of the run."""
        return self._script.stream_chat(request)


def _replay_events(answer: RecordedAnswer) -> list[ChatStreamEvent]:
    events = [ChatStreamEvent(type="text_delta", text=answer.text)] if answer.text else []
    if answer.calls:
        events.append(ChatStreamEvent(type="tool_calls", tool_calls=answer.calls))
    reason = "tool_calls" if answer.calls else "stop"
    return [*events, ChatStreamEvent(type="completed", finish_reason=reason)]
