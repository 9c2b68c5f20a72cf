"""Time, ids, the disk, and what must not be written down."""

from typing import Any, Protocol


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> str:
        """The current time as RFC 3339 in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...


class Ids(Protocol):
    """Where ids come from."""

    def new(self, kind: str) -> str:
        """A fresh id `<kind>_<32 hex>`."""
        ...


class Disk(Protocol):
    """The few system calls the log stands on, so that tests can make them fail."""

    def write(self, fd: int, data: bytes) -> int:
        """Append bytes; may write fewer than given."""
        ...

    def sync(self, fd: int) -> None:
        """Return only when the data is on stable storage."""
        ...

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file."""
        ...


class SecretStream(Protocol):
    """One text that comes in pieces, without its secrets."""

    def feed(self, text: str) -> str:
        """Take in the next piece, and give what may go out now."""
        ...

    def finish(self) -> str:
        """Give the rest."""
        ...


class Secrets(Protocol):
    """The secrets that a run has come across, and how they are taken out of what it shows."""

    def hide(self, *values: str) -> None:
        """Know more of them from now on."""
        ...

    def text(self, text: str) -> str:
        """The text without secrets; the same object if it has none."""
        ...

    def value(self, value: Any) -> Any:
        """The plain data without secrets; the same object if it has none."""
        ...

    def line(self, data: bytes) -> bytes:
        """The JSON document without secrets; the same object if it has none."""
        ...

    def stream(self) -> SecretStream:
        """For one text that comes in pieces."""
        ...
