"""Capture the start and the end of a stream and the digest of all of it, in bounded memory."""

import codecs
import hashlib

import msgspec

MAX_CHARACTER = 4
"""Bytes of the longest UTF-8 character."""


class Captured(msgspec.Struct, frozen=True):
    """The captured part of a stream of `total` bytes; `tail` directly follows `head` if nothing was left out."""

    head: bytes
    tail: bytes
    total: int
    sha256: str

    @property
    def left_out(self) -> int:
        """Number of bytes between head and tail that were not captured."""
        return self.total - len(self.head) - len(self.tail)

    def text(self) -> str:
        """Return the stream as text, with a note where bytes are missing."""
        if not self.left_out:
            return (self.head + self.tail).decode(errors="replace")
        # A cut inside a character would show as damage that the stream does not have.
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(self.head)
        return (
            f"{head}\n… {self.left_out} bytes left out …\n{_skip_partial_character(self.tail).decode(errors='replace')}"
        )


def _skip_partial_character(data: bytes) -> bytes:
    """Drop the rest of a character that began before the data."""
    for start in range(min(MAX_CHARACTER, len(data))):
        if data[start] & 0b1100_0000 != 0b1000_0000:
            return data[start:]
    return data


class Capture:
    """Captures a stream: the first half of `limit` bytes, and the last."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._digest = hashlib.sha256()
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Add the next bytes of the stream."""
        self.total += len(data)
        self._digest.update(data)
        space = self._head_limit - len(self._head)
        self._head += data[:space]
        self._tail += data[space:]
        # Trimming only at twice the limit moves every byte at most once more, for any chunk size.
        if len(self._tail) > 2 * self._tail_limit:
            self._cut()

    def snapshot(self) -> Captured:
        """Return what has been captured so far."""
        self._cut()
        return Captured(bytes(self._head), bytes(self._tail), self.total, self._digest.hexdigest())

    def _cut(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_limit)]
