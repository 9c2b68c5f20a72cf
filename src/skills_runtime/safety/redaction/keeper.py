"""The secrets that runs have come across so far, and the redactor that knows them, made when it is first needed."""

import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from skills_runtime.safety.redaction.values import worth_hiding

if TYPE_CHECKING:
    from skills_runtime.safety.redaction.redactor import Redactor
    from skills_runtime.safety.redaction.stream import StreamRedactor


@lru_cache(maxsize=16)
def _redactor(secrets: frozenset[str]) -> "Redactor":
    """Making one takes longer than a small run, and the agents of a process mostly know the same secrets."""
    from skills_runtime.safety.redaction.redactor import Redactor

    return Redactor(secrets)


class Keeper:
    """Knows secrets, and learns more of them; safe to share between runs and threads."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known = frozenset(secrets)
        self._made: Redactor | None = None
        self._lock = threading.Lock()

    def hide(self, *values: str) -> None:
        """Know more secrets from now on."""
        worth = {stripped for value in values if worth_hiding(stripped := value.strip())}
        with self._lock:
            if not worth <= self._known:
                self._known |= worth
                self._made = None

    def text(self, text: str) -> str:
        """The text without secrets; the same object if it has none."""
        return (self._made or self._make()).text(text)

    def value(self, value: Any) -> Any:
        """The plain data without secrets; the same object if it has none."""
        return (self._made or self._make()).value(value)

    def line(self, data: bytes) -> bytes:
        """The JSON document without secrets; the same object if it has none."""
        return (self._made or self._make()).line(data)

    def stream(self) -> "StreamRedactor":
        """For one text that comes in pieces."""
        return (self._made or self._make()).stream()

    def _make(self) -> "Redactor":
        with self._lock:
            self._made = _redactor(self._known)
            return self._made
