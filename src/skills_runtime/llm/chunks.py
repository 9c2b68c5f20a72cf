"""From the chunks of a stream to the pieces of an answer.

Chunks are taken as plain data: services leave out, rename and add fields, and none of that may break an answer.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from skills_runtime.errors import ModelError
from skills_runtime.llm.failures import explained, refusal_of
from skills_runtime.llm.text import one_line
from skills_runtime.ports import ChatStreamEvent, ToolCall, ToolCallDelta

MOST_TOKENS = 2**53
"""A count beyond this is nonsense."""

MOST_CHARS = 32 << 20
"""No answer is that long, unless nothing ends it."""
ENDS_IN_ERROR = frozenset({"error", "network_error", "insufficient_system_resource", "abort"})
"""What several services call the end of an answer that they could not finish."""


class Assembly:
    """Puts one streamed answer together; `prefix` begins the ids of calls that come without one."""

    def __init__(self, *, prefix: str = "call") -> None:
        self._prefix = prefix
        self._calls: list[_Call] = []
        self._current: dict[int | str, int] = {}
        """Where the call of an index or id is."""
        self._last: int | str = 0
        self._refusal: list[str] = []
        self._finish_reason: str | None = None
        self._usage: dict[str, int] | None = None
        self._request_id: str | None = None
        self._chars = 0

    def take(self, chunk: object) -> Iterator[ChatStreamEvent]:
        """The events a chunk amounts to."""
        if not isinstance(chunk, dict):
            raise ModelError("the model sent a chunk that is not an object", retryable=True)
        piece = cast(dict[str, Any], chunk)
        if piece.get("object") == "error":
            raise explained(refusal_of(piece))
        self._request_id = _text(piece.get("id")) or self._request_id
        choice = _mapping(next(iter(_list(piece.get("choices"))), None))
        usage = _mapping(piece.get("usage")) or _mapping(choice.get("usage"))
        self._usage = usage_of(usage) if usage else self._usage
        self._finish_reason = _text(choice.get("finish_reason")) or self._finish_reason
        yield from self._delta(_mapping(choice.get("delta")))

    def end(self) -> Iterator[ChatStreamEvent]:
        """The calls and the end of the answer, if it has come."""
        if self._finish_reason is None:
            raise ModelError("the model's answer broke off before its end", retryable=True)
        if self._finish_reason.lower() in ENDS_IN_ERROR:
            raise ModelError("the model's provider ended the answer with an error", retryable=True)
        if self._refusal:
            raise ModelError(f"the model refused: {one_line(''.join(self._refusal))}", hint="ask for something else")
        if self._calls:
            yield ChatStreamEvent(type="tool_calls", tool_calls=[call.whole() for call in self._calls])
        yield ChatStreamEvent(
            type="completed",
            finish_reason=self._finish_reason,
            usage=self._usage,
            request_id=self._request_id,
            provider="openai",
        )

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[ChatStreamEvent]:
        reasoning = _text(delta.get("reasoning_content")) or _text(delta.get("reasoning"))
        if reasoning := reasoning or _thinking(delta.get("content")):
            self._count(reasoning)
            yield ChatStreamEvent(type="reasoning_delta", text=reasoning)
        if text := _spoken(delta.get("content")):
            self._count(text)
            yield ChatStreamEvent(type="text_delta", text=text)
        if refusal := _text(delta.get("refusal")):
            self._count(refusal)
            self._refusal.append(refusal)
        for piece in map(_mapping, _list(delta.get("tool_calls"))):
            yield ChatStreamEvent(type="tool_call_delta", call_delta=self._add(piece))

    def _add(self, piece: Mapping[str, Any]) -> ToolCallDelta:
        function = _mapping(piece.get("function"))
        call_id, name = _text(piece.get("id")), _text(function.get("name"))
        index = self._position(piece.get("index"), call_id, name)
        call, arguments = self._calls[index], _arguments(function.get("arguments"))
        self._count(call_id, name, arguments)
        if call_id and not call.named_by_service:
            call.id, call.named_by_service = call_id, True
        added = name if name != call.name else ""  # some services repeat it with every piece
        call.name += added
        call.arguments.append(arguments)
        return ToolCallDelta(index=index, id=call.id, name=added, arguments=arguments)

    def _count(self, *pieces: str) -> None:
        self._chars += sum(map(len, pieces))
        if self._chars > MOST_CHARS:
            raise ModelError("the model's answer does not end")

    def _position(self, index: object, call_id: str, name: str) -> int:
        """Which call a piece belongs to: by its index, else by its id, else the one before."""
        key = self._last = index if isinstance(index, int) else call_id or self._last
        at = self._current.get(key)
        if at is None or _begins_another(self._calls[at], call_id, name, indexed=key is index):
            at = self._current[key] = len(self._calls)
            self._calls.append(_Call(id=f"{self._prefix}_{at + 1}"))
        return at


class _Call(msgspec.Struct):
    """A call that is being written."""

    id: str
    named_by_service: bool = False
    name: str = ""
    arguments: list[str] = []

    def whole(self) -> ToolCall:
        return ToolCall(id=self.id, name=self.name, arguments="".join(self.arguments) or "{}")


def _begins_another(call: _Call, call_id: str, name: str, *, indexed: bool) -> bool:
    """Whether a piece is not of this call after all: some services give every call the same index, or none."""
    if not name or not call.name:
        return False
    return call.named_by_service and call_id != call.id if call_id else not indexed


def usage_of(usage: Mapping[str, Any]) -> dict[str, int]:
    """The tokens of an answer in our words."""
    request, answer = _mapping(usage.get("prompt_tokens_details")), _mapping(usage.get("completion_tokens_details"))
    used_in, used_out = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    cached = (request.get("cached_tokens"), usage.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"))
    return {
        "input_tokens": used_in,
        "output_tokens": used_out,
        "total_tokens": _count(usage.get("total_tokens")) or used_in + used_out,
        "cached_tokens": next((count for count in map(_count, cached) if count), 0),
        "reasoning_tokens": _count(answer.get("reasoning_tokens")),
    }


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast(list[object], value) if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return int(value) if isinstance(value, int | float) and 0 < value < MOST_TOKENS else 0


def _spoken(content: object) -> str:
    """The text of a piece, which some services send as a list of blocks."""
    return "".join(_text(_mapping(block).get("text")) for block in _list(content)) or _text(content)


def _thinking(content: object) -> str:
    """The reasoning of a piece that comes as a list of blocks."""
    return "".join(_spoken(_mapping(block).get("thinking")) for block in _list(content))


def _arguments(value: object) -> str:
    """Arguments as JSON text, which some services send as an object."""
    return msgspec.json.encode(value).decode() if isinstance(value, dict) else _text(value)
