"""Time, names and the disk."""

from typing import Protocol


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
