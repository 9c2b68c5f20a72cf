"""Turn a streamed answer into events and compute its cost.

Knows nothing of runs: events are passed to a callback.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from itertools import chain, count

import msgspec

from skills_runtime.errors import ModelError
from skills_runtime.events import LlmResponseDelta, LlmRetryScheduled, LlmUsage, Payload
from skills_runtime.llm.prices import Price, cost_of
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

DELTA_SECONDS = 0.05
DELTA_CHARS = 4096

_CUT = "the model's answer was cut off at its length limit"
_WITHHELD = "the provider's filter withheld the model's answer"
INCOMPLETE_REASONS = {
    **dict.fromkeys(("length", "max_tokens", "model_length", "model_context_window_exceeded"), _CUT),
    **dict.fromkeys(("content_filter", "sensitive", "safety", "recitation", "prohibited_content"), _WITHHELD),
}
"""Finish reasons of several providers that mean the answer is incomplete, with the error message for each."""
CALL_REASONS = ("tool_calls", "function_call")
"""Finish reasons that announce tool calls."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One complete answer; its text has been recorded already."""

    calls: list[ToolCall]
    """Each call has a unique id and contains only valid Unicode."""
    finish_reason: str
    text_chars: int


class EventRecorder:
    """Record one streamed answer as events and return the complete answer at the end.

    `used_ids` are the ids of earlier calls, which no call of this answer may reuse.
    """

    def __init__(
        self,
        record: Callable[[Payload], object],
        *,
        model: str,
        clock: Clock,
        price: Price | None = None,
        used_ids: Collection[str] = frozenset(),
        secrets: Secrets | None = None,
    ) -> None:
        self._record = record
        self._model = model
        self._clock = clock
        self._price = price
        self._used_ids = used_ids
        self._text, self._reasoning, self._call_progress = (
            _TextBuffer("text", secrets),
            _TextBuffer("reasoning", secrets),
            _CallBuffer(),
        )
        self._current: _TextBuffer | _CallBuffer = self._text
        self._has_pending = False
        self._pending_chars = 0
        self._recorded_at = clock.monotonic()
        self._calls: list[ToolCall] = []
        self._end: ChatStreamEvent | None = None

    def add(self, event: ChatStreamEvent) -> None:
        """Process one event of the stream."""
        match event:
            case ChatStreamEvent(type="text_delta", text=str(text)) if text:
                self._switch_to(self._text)
                self._text.add(text)
                self._count_pending(len(text))
            case ChatStreamEvent(type="reasoning_delta", text=str(text)) if text:
                self._switch_to(self._reasoning)
                self._reasoning.add(text)
                self._count_pending(len(text))
            case ChatStreamEvent(type="tool_call_delta", call_delta=ToolCallDelta() as piece):
                self._switch_to(self._call_progress)
                self._call_progress.add(piece)
                self._count_pending(len(piece.arguments))
            case ChatStreamEvent(type="tool_calls"):
                self._calls.extend(event.tool_calls or ())
            case ChatStreamEvent(type="retry_scheduled"):
                self._record(LlmRetryScheduled(**(event.retry or {})))
            case ChatStreamEvent(type="completed"):
                self._end = event
            case _:
                pass

    def flush(self) -> None:
        """Record everything that is still buffered."""
        if self._has_pending:
            self._has_pending = False
            for buffer in (self._reasoning, self._text, self._call_progress):
                self._record_buffer(buffer, final=True)

    def finish(self) -> Answer:
        """Return the complete answer; raise `ModelError` if it is incomplete."""
        self.flush()
        if self._end is None:
            raise ModelError("the model's answer broke off before its end", retryable=True)
        if self._end.usage is not None:
            self._record(_usage(self._model, self._end, self._price))
        reason = well_formed(self._end.finish_reason or "stop")
        if (problem := INCOMPLETE_REASONS.get(reason.lower())) is not None:
            raise ModelError(problem)
        if not self._calls and not self._text.chars:
            raise ModelError("the model's answer is empty", retryable=True)
        if not self._calls and reason in CALL_REASONS:
            raise ModelError("the model announced tool calls but sent none", retryable=True)
        return Answer(
            calls=_assign_unique_ids(self._calls, self._used_ids), finish_reason=reason, text_chars=self._text.chars
        )

    def _switch_to(self, buffer: "_TextBuffer | _CallBuffer") -> None:
        """Keep the order: record the buffer of one type before another type starts."""
        if buffer is not self._current:
            self._record_buffer(self._current)
            self._current = buffer

    def _count_pending(self, chars: int) -> None:
        self._has_pending = True
        self._pending_chars += chars
        late = self._clock.monotonic() - self._recorded_at >= DELTA_SECONDS
        if late or self._pending_chars >= DELTA_CHARS:
            self._record_buffer(self._current)

    def _record_buffer(self, buffer: "_TextBuffer | _CallBuffer", *, final: bool = False) -> None:
        delta = buffer.drain(final=final)
        self._pending_chars = 0
        if delta is not None:
            self._record(delta)
            self._recorded_at = self._clock.monotonic()


async def record_answer(backend: Backend, request: ChatRequest, recorder: EventRecorder) -> Answer:
    """Ask a model and record its answer; the connection is always closed before this returns."""
    stream = backend.stream_chat(request)
    try:
        async for event in stream:
            recorder.add(event)
    finally:
        recorder.flush()  # the log also keeps what came before a stream broke off
        close: Callable[[], Awaitable[None]] | None = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    return recorder.finish()


class _TextBuffer:
    """Buffer for text or reasoning; what may be the start of a secret is held back until it can be redacted."""

    def __init__(self, delta_type: str, secrets: Secrets | None) -> None:
        self.chars = 0
        self._delta_type = delta_type
        self._pieces: list[str] = []
        self._secrets = secrets
        self._stream: SecretStream | None = None

    def add(self, text: str) -> None:
        self._pieces.append(text)

    def drain(self, *, final: bool) -> LlmResponseDelta | None:
        if not self._pieces and self._stream is None:
            return None
        text = "".join(self._pieces)
        # A provider may split a surrogate pair: hold the first half until the second arrives.
        half = text[-1:] if not final and "\ud800" <= text[-1:] <= "\udbff" else ""
        self._pieces = [half] if half else []
        text = self._redact(well_formed(text.removesuffix(half)), final=final)
        self.chars += len(text)
        return LlmResponseDelta(delta_type=self._delta_type, text=text) if text else None

    def _redact(self, text: str, *, final: bool) -> str:
        if self._secrets is None:
            return text
        if self._stream is None:
            if final:  # The answer came in one piece: redact it at once, without a stream.
                return self._secrets.text(text)
            self._stream = self._secrets.stream()
        return self._stream.feed(text) + (self._stream.finish() if final else "")


class _CallBuffer:
    """Progress of streamed calls: id, name and size only, because the arguments are not sanitized yet."""

    def __init__(self) -> None:
        self._calls: dict[int, tuple[str, str, int]] = {}
        self._changed: dict[int, None] = {}

    def add(self, piece: ToolCallDelta) -> None:
        call_id, name, chars = self._calls.get(piece.index, (f"call_{piece.index + 1}", "", 0))
        self._calls[piece.index] = (piece.id or call_id, name + piece.name, chars + len(piece.arguments))
        self._changed[piece.index] = None

    def drain(self, *, final: bool) -> LlmResponseDelta | None:
        indexes, self._changed = self._changed, {}
        progress = [
            {"call_id": well_formed(call_id), "tool": name, "name": name, "arguments_chars": chars}
            for call_id, raw_name, chars in map(self._calls.__getitem__, indexes)
            for name in (well_formed(raw_name),)
        ]
        return LlmResponseDelta(delta_type="tool_calls", tool_calls=progress) if progress else None


def _assign_unique_ids(calls: Sequence[ToolCall], used_ids: Collection[str]) -> list[ToolCall]:
    """Return the calls with valid Unicode and unique ids."""
    distinct: dict[str, ToolCall] = {}
    for number, call in enumerate(calls, start=1):
        base_id = call_id = well_formed(call.id) or f"call_{number}"
        # A provider may give every call the same id: start numbering where free numbers are likely.
        numbers = chain([number], count(len(used_ids) + number))
        while call_id in distinct or call_id in used_ids:
            call_id = f"{base_id}_{next(numbers)}"
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
