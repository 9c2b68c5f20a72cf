"""Time, ids, the disk and secrets."""

from typing import Any, Protocol


class Clock(Protocol):
    """The source of time."""

    def now(self) -> str:
        """Return the current time as RFC 3339 in UTC."""
        ...

    def monotonic(self) -> float:
        """Return monotonic seconds."""
        ...


class Ids(Protocol):
    """The source of ids."""

    def new(self, kind: str) -> str:
        """Return a new id `<kind>_<32 hex>`."""
        ...


class Disk(Protocol):
    """The system calls of the log, so that tests can make them fail."""

    def write(self, fd: int, data: bytes) -> int:
        """Append bytes; may write fewer than given."""
        ...

    def sync(self, fd: int) -> None:
        """Return only when the data is on stable storage."""
        ...

    def truncate(self, fd: int, size: int) -> None:
        """Truncate the file."""
        ...


class SecretStream(Protocol):
    """Redacts one text that arrives in pieces."""

    def feed(self, text: str) -> str:
        """Add the next piece, and return what is safe to show now."""
        ...

    def finish(self) -> str:
        """Return the rest."""
        ...


class Secrets(Protocol):
    """The secrets known to a run, and their redaction."""

    def hide(self, *values: str) -> None:
        """Add secrets."""
        ...

    def text(self, text: str) -> str:
        """Return the text without secrets; the same object if it has none."""
        ...

    def value(self, value: Any) -> Any:
        """Return the plain data without secrets; the same object if it has none."""
        ...

    def line(self, data: bytes) -> bytes:
        """Return the JSON document without secrets; the same object if it has none."""
        ...

    def stream(self) -> SecretStream:
        """Return a redactor for one text that arrives in pieces."""
        ...
