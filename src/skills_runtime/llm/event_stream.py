"""The events of a response as the standard has them, where the `openai` package is less exact; imports that package."""

import re
from collections.abc import AsyncIterator
from typing import Any

from openai import AsyncStream
from openai._streaming import ServerSentEvent, SSEDecoder

from skills_runtime.errors import ModelError
from skills_runtime.llm.failures import LONGEST_READ

MOST_BYTES = 64 << 20
"""What may come until an event is complete."""
_FIELD = re.compile("(?:data|event|id|retry)?(?::|$)")


class EventStream(AsyncStream[object]):
    """The chunks of one response."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._decoder = self._events = _Events()

    @property
    def besides(self) -> str:
        """The beginning of what came instead of events, where none came."""
        return "" if self._events.come else self._events.besides


class _Events(SSEDecoder):
    """Passes over what is no event: a mark of the byte order at the beginning, and fields without data."""

    def __init__(self) -> None:
        super().__init__()
        self.besides = ""
        self.come = self._begun = False
        self._bytes = 0

    async def aiter_bytes(self, iterator: AsyncIterator[bytes]) -> AsyncIterator[ServerSentEvent]:
        """The events in these bytes."""
        async for event in super().aiter_bytes(self._bounded(iterator)):
            self._bytes = 0
            yield event

    def decode(self, line: str) -> ServerSentEvent | None:
        """Take in a line; some lines complete an event."""
        line = line if self._begun else line.removeprefix("\ufeff")
        self._begun = True
        if not self.come and len(self.besides) < LONGEST_READ and not _FIELD.match(line):
            self.besides += f"{line[:LONGEST_READ]}\n"
        event = super().decode(line)
        if event is None or not event.data:
            return None
        self.come = True
        return event

    async def _bounded(self, iterator: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for piece in iterator:
            self._bytes += len(piece)
            if self._bytes > MOST_BYTES:
                raise ModelError("the model's provider sent a chunk that does not end")
            yield piece
