"""From the stream of an answer to the events that tell of it, and what it cost.

Knows nothing of runs: what it records goes to a function.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from itertools import chain, count

import msgspec

from skills_runtime.errors import ModelError
from skills_runtime.events import LlmResponseDelta, LlmRetryScheduled, LlmUsage, Payload
from skills_runtime.ports import (
    Backend,
    ChatRequest,
    ChatStreamEvent,
    Clock,
    Secrets,
    SecretStream,
    ToolCall,
    ToolCallDelta,
)
from skills_runtime.text import well_formed

PER = 1_000_000
"""Tokens a price is for."""


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """What a model costs in US dollars per million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    """For the part of the request that the provider had cached; nothing means the full price."""


def cost_of(price: Price, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
    """The cost of one answer in US dollars; cached tokens are a part of the input tokens."""
    cached = min(cached_tokens, input_tokens)
    cached_price = price.input if price.cached_input is None else price.cached_input
    dollars = (input_tokens - cached) * price.input + cached * cached_price + output_tokens * price.output
    return round(dollars / PER, 12)


DELTA_SECONDS = 0.05
DELTA_CHARS = 4096

_CUT = "the model's answer was cut off at its length limit"
_WITHHELD = "the provider's filter withheld the model's answer"
NOT_AN_ANSWER = {
    **dict.fromkeys(("length", "max_tokens", "model_length", "model_context_window_exceeded"), _CUT),
    **dict.fromkeys(("content_filter", "sensitive", "safety", "recitation", "prohibited_content"), _WITHHELD),
}
"""Ends of a stream that are no end of an answer, in the words of several services."""
CALLING = ("tool_calls", "function_call")
"""Ends of a stream that promise calls."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One complete answer; its text has been recorded."""

    calls: list[ToolCall]
    """Each with an id of its own, as text that can be written."""
    finish_reason: str
    text_chars: int


class Transcriber:
    """Records one answer while it comes in, and says at the end what came of it.

    `taken` are the ids of earlier calls, which no call of this answer may have.
    """

    def __init__(
        self,
        record: Callable[[Payload], object],
        *,
        model: str,
        clock: Clock,
        price: Price | None = None,
        taken: Collection[str] = frozenset(),
        secrets: Secrets | None = None,
    ) -> None:
        self._record = record
        self._model = model
        self._clock = clock
        self._price = price
        self._taken = taken
        self._text, self._reasoning, self._writing = _Words("text", secrets), _Words("reasoning", secrets), _Writing()
        self._open: _Words | _Writing = self._text
        self._holds = False
        self._held_chars = 0
        self._written = clock.monotonic()
        self._calls: list[ToolCall] = []
        self._end: ChatStreamEvent | None = None

    def take(self, event: ChatStreamEvent) -> None:
        """Take in one piece."""
        match event:
            case ChatStreamEvent(type="text_delta", text=str(text)) if text:
                self._turn_to(self._text)
                self._text.add(text)
                self._hold(len(text))
            case ChatStreamEvent(type="reasoning_delta", text=str(text)) if text:
                self._turn_to(self._reasoning)
                self._reasoning.add(text)
                self._hold(len(text))
            case ChatStreamEvent(type="tool_call_delta", call_delta=ToolCallDelta() as piece):
                self._turn_to(self._writing)
                self._writing.add(piece)
                self._hold(len(piece.arguments))
            case ChatStreamEvent(type="tool_calls"):
                self._calls.extend(event.tool_calls or ())
            case ChatStreamEvent(type="retry_scheduled"):
                self._record(LlmRetryScheduled(**(event.retry or {})))
            case ChatStreamEvent(type="completed"):
                self._end = event
            case _:
                pass

    def flush(self) -> None:
        """Record what is held back, as before an error is told."""
        if self._holds:
            self._holds = False
            for held in (self._reasoning, self._text, self._writing):
                self._record_held(held, whole=True)

    def finish(self) -> Answer:
        """What came of it; raises `ModelError` when that is not a whole answer."""
        self.flush()
        if self._end is None:
            raise ModelError("the model's answer broke off before its end", retryable=True)
        if self._end.usage is not None:
            self._record(_usage(self._model, self._end, self._price))
        reason = well_formed(self._end.finish_reason or "stop")
        if (why := NOT_AN_ANSWER.get(reason.lower())) is not None:
            raise ModelError(why)
        if not self._calls and not self._text.chars:
            raise ModelError("the model answered with nothing", retryable=True)
        if not self._calls and reason in CALLING:
            raise ModelError("the model's answer ended in calls that never came", retryable=True)
        return Answer(calls=_distinct(self._calls, self._taken), finish_reason=reason, text_chars=self._text.chars)

    def _turn_to(self, held: "_Words | _Writing") -> None:
        """Keep the order: what is held of one type is recorded before another type begins."""
        if held is not self._open:
            self._record_held(self._open)
            self._open = held

    def _hold(self, chars: int) -> None:
        self._holds = True
        self._held_chars += chars
        late = self._clock.monotonic() - self._written >= DELTA_SECONDS
        if late or self._held_chars >= DELTA_CHARS:
            self._record_held(self._open)

    def _record_held(self, held: "_Words | _Writing", *, whole: bool = False) -> None:
        delta = held.drain(whole=whole)
        self._held_chars = 0
        if delta is not None:
            self._record(delta)
            self._written = self._clock.monotonic()


async def transcribe(backend: Backend, request: ChatRequest, transcriber: Transcriber) -> Answer:
    """Ask a model and record its answer; its connection is let go of before this returns, whatever happens."""
    stream = backend.stream_chat(request)
    try:
        async for event in stream:
            transcriber.take(event)
    finally:
        transcriber.flush()  # what was said before a stream broke off belongs into the log too
        close: Callable[[], Awaitable[None]] | None = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    return transcriber.finish()


class _Words:
    """Text or reasoning that waits to be recorded; what may be the beginning of a secret waits longer."""

    def __init__(self, delta_type: str, secrets: Secrets | None) -> None:
        self.chars = 0
        self._delta_type = delta_type
        self._pieces: list[str] = []
        self._secrets = secrets
        self._stream: SecretStream | None = None

    def add(self, text: str) -> None:
        self._pieces.append(text)

    def drain(self, *, whole: bool) -> LlmResponseDelta | None:
        if not self._pieces and self._stream is None:
            return None
        text = "".join(self._pieces)
        # A service may cut a character in two: its first half waits for the second.
        half = text[-1:] if not whole and "\ud800" <= text[-1:] <= "\udbff" else ""
        self._pieces = [half] if half else []
        text = self._shown(well_formed(text.removesuffix(half)), whole=whole)
        self.chars += len(text)
        return LlmResponseDelta(delta_type=self._delta_type, text=text) if text else None

    def _shown(self, text: str, *, whole: bool) -> str:
        if self._secrets is None:
            return text
        if self._stream is None:
            if whole:  # as most answers without a stream are: nothing comes before or after
                return self._secrets.text(text)
            self._stream = self._secrets.stream()
        return self._stream.feed(text) + (self._stream.finish() if whole else "")


class _Writing:
    """Calls that are being written: who they are and how far, never what, for nothing has sanitized that yet."""

    def __init__(self) -> None:
        self._calls: dict[int, tuple[str, str, int]] = {}
        self._changed: dict[int, None] = {}

    def add(self, piece: ToolCallDelta) -> None:
        call_id, name, chars = self._calls.get(piece.index, (f"call_{piece.index + 1}", "", 0))
        self._calls[piece.index] = (piece.id or call_id, name + piece.name, chars + len(piece.arguments))
        self._changed[piece.index] = None

    def drain(self, *, whole: bool) -> LlmResponseDelta | None:
        changed, self._changed = self._changed, {}
        written = [
            {"call_id": well_formed(call_id), "tool": name, "name": name, "arguments_chars": chars}
            for call_id, raw_name, chars in map(self._calls.__getitem__, changed)
            for name in (well_formed(raw_name),)
        ]
        return LlmResponseDelta(delta_type="tool_calls", tool_calls=written) if written else None


def _distinct(calls: Sequence[ToolCall], taken: Collection[str]) -> list[ToolCall]:
    """The calls as text that can be written, each with an id of its own."""
    distinct: dict[str, ToolCall] = {}
    for number, call in enumerate(calls, start=1):
        given = call_id = well_formed(call.id) or f"call_{number}"
        # A service may call every call the same: numbers begin where they are likely to be free.
        numbers = chain([number], count(len(taken) + number))
        while call_id in distinct or call_id in taken:
            call_id = f"{given}_{next(numbers)}"
        distinct[call_id] = ToolCall(id=call_id, name=well_formed(call.name), arguments=well_formed(call.arguments))
    return list(distinct.values())


def _usage(model: str, end: ChatStreamEvent, price: Price | None) -> LlmUsage:
    usage = {name: count for name, count in (end.usage or {}).items() if count}
    used_in, used_out = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
    cached = usage.get("cached_tokens", 0)
    return LlmUsage(
        model=model,
        input_tokens=used_in,
        output_tokens=used_out,
        total_tokens=usage.get("total_tokens", used_in + used_out),
        cached_tokens=cached,
        reasoning_tokens=usage.get("reasoning_tokens", 0),
        cost_usd=None if price is None else cost_of(price, used_in, used_out, cached),
        provider=end.provider,
        request_id=None if end.request_id is None else well_formed(end.request_id),
    )
