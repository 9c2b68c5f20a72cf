"""The chain: each line is sealed with a keyed hash over the seal before it and its own bytes.

Pure; HMAC-SHA256 cut to 16 bytes, written in hex.
"""

import hashlib
import hmac
from typing import AnyStr

from skills_runtime.events.envelope import MAC_FIELD, MAC_HEX_CHARS, MAC_TAIL_BYTES

GENESIS = b"0" * MAC_HEX_CHARS
_BLOCK = 64
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))


class Chain:
    """Seals lines in order, or checks seals made before."""

    def __init__(self, secret: bytes, head: bytes = GENESIS) -> None:
        key = secret.ljust(_BLOCK, b"\0")
        # The two half-hashed states of HMAC are kept: half the cost of hmac.digest per line.
        self._inner = hashlib.sha256(key.translate(_INNER))
        self._outer = hashlib.sha256(key.translate(_OUTER))
        self.head = head

    def seal(self, body: bytes) -> bytes:
        """The seal of the next line, which becomes the head."""
        # Like `seal_after`, without the call: this is done for every event.
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(self.head + body)
        outer.update(inner.digest())
        self.head = seal = outer.hexdigest()[:MAC_HEX_CHARS].encode()
        return seal

    def seal_after(self, head: bytes, body: bytes) -> bytes:
        """The seal `body` would have after `head`; changes nothing."""
        inner = self._inner.copy()
        inner.update(head + body)
        outer = self._outer.copy()
        outer.update(inner.digest())
        return outer.hexdigest()[:MAC_HEX_CHARS].encode()


def split_line(line: bytes) -> tuple[bytes, bytes] | None:
    """The sealed part and the seal of one line without its newline, or None when it has not that exact form."""
    body, tail = line[:-MAC_TAIL_BYTES], line[-MAC_TAIL_BYTES:]
    if not (body.startswith(b"{") and tail.startswith(MAC_FIELD) and tail.endswith(b'"}')):
        return None
    return body, tail[len(MAC_FIELD) : -2]


def tag(secret: bytes, domain: str, data: bytes) -> str:
    """A keyed hash for the log's side files; a domain never collides with a line of the chain."""
    return hmac.digest(secret, domain.encode() + b"\n" + data, "sha256")[:16].hex()


def same(left: AnyStr, right: AnyStr) -> bool:
    """Compare two seals in constant time, whatever somebody wrote in place of one."""
    return hmac.compare_digest(_bytes(left), _bytes(right))


def _bytes(seal: str | bytes) -> bytes:
    return seal.encode() if isinstance(seal, str) else seal
