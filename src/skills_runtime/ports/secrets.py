"""What must not be shown, wherever it turns up."""

from typing import Any, Protocol


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
