"""What the parts of the egress proxy tell each other: a refusal, or something understood in a stretch of bytes."""

from typing import Generic, Literal, TypeVar

import msgspec

T = TypeVar("T")

Kind = Literal[
    "host_invalid", "request_invalid", "not_allowed", "denied", "address_blocked", "name_mismatch",
    "unreachable", "limit", "closed",
]  # fmt: skip
"""Why something was refused, for programs; these words never change."""

MAX_SHOWN = 255


class Refused(msgspec.Struct, frozen=True):
    """No, with one sentence for a person; `about` is the host in question as far as it could be read."""

    kind: Kind
    reason: str
    about: str = ""


class Parsed(msgspec.Struct, Generic[T], frozen=True):
    """Something understood, and how many bytes it took."""

    value: T
    used: int


class Wanting(msgspec.Struct, frozen=True):
    """So far nothing is wrong, but the end has not arrived."""


class Stopped(Exception):
    """A connection cannot go on; carries the refusal to its edge, and last words for a client in a tunnel."""

    def __init__(self, refused: Refused, last_words: bytes = b"") -> None:
        super().__init__(refused.reason)
        self.refused = refused
        self.last_words = last_words


def shown(text: str) -> str:
    """Hostile text as harmless characters, for records and answers."""
    escaped = ascii(text)[1:-1]
    return escaped if len(escaped) <= MAX_SHOWN else escaped[: MAX_SHOWN - 3] + "..."
