"""Keeps the beginning and the end of a stream, and the digest of all of it, in bounded memory."""

import codecs
import hashlib

import msgspec

MAX_CHARACTER = 4
"""Bytes of the longest character in UTF-8."""


class Captured(msgspec.Struct, frozen=True):
    """What was kept of a stream of `total` bytes; `tail` follows `head` at once when nothing was left out."""

    head: bytes
    tail: bytes
    total: int
    sha256: str

    @property
    def left_out(self) -> int:
        """How many bytes between head and tail were not kept."""
        return self.total - len(self.head) - len(self.tail)

    def text(self) -> str:
        """The stream as text, with a line where something is missing."""
        if not self.left_out:
            return (self.head + self.tail).decode(errors="replace")
        # A cut inside a character would show as damage that the stream does not have.
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(self.head)
        return (
            f"{head}\n… {self.left_out} bytes left out …\n{_skip_partial_character(self.tail).decode(errors='replace')}"
        )


def _skip_partial_character(data: bytes) -> bytes:
    """The data without the rest of a character that began before it."""
    for start in range(min(MAX_CHARACTER, len(data))):
        if data[start] & 0b1100_0000 != 0b1000_0000:
            return data[start:]
    return data


class Capture:
    """A stream being kept: the first half of `limit` bytes, and the last."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._digest = hashlib.sha256()
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self.total += len(data)
        self._digest.update(data)
        space = self._head_limit - len(self._head)
        self._head += data[:space]
        self._tail += data[space:]
        # Cutting only when twice too long moves every byte at most once more, whatever the size of the pieces.
        if len(self._tail) > 2 * self._tail_limit:
            self._cut()

    def snapshot(self) -> Captured:
        """What has been kept until now."""
        self._cut()
        return Captured(bytes(self._head), bytes(self._tail), self.total, self._digest.hexdigest())

    def _cut(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_limit)]
