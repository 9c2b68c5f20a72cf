"""The lines of a log and the MAC chain through them: reading, sealing and verifying.

Each line is sealed with a keyed hash (HMAC-SHA256 cut to 16 bytes, written in hex) over the seal before it and its own
bytes. The verifier stops trusting the log at the first line that fails. Nothing is written here, and the caller
supplies the keys.
"""

import hashlib
import hmac
import os
from collections.abc import Callable, Iterator
from typing import AnyStr, Literal, NamedTuple

import msgspec

from skills_runtime.errors import LogTooNew
from skills_runtime.events import (
    LOG_SCHEMA,
    LOG_VERSION,
    MAC_FIELD,
    MAC_HEX_CHARS,
    MAC_TAIL_BYTES,
    TERMINAL_TYPES,
    RunAdopted,
    Wire,
    build_decoder,
    decode_wire,
)

GENESIS = b"0" * MAC_HEX_CHARS
_BLOCK = 64
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))

CHUNK = 1 << 20
"""The number of bytes read at once."""
MAX_LINE_BYTES = 64 << 20
"""The maximum length of a line; longer ones come from foreign or sparse files."""
_SMALL = 4096

Fault = Literal["shape", "seal", "sequence", "foreign", "epoch", "after_end", "prefix", "key"]
FindSecret = Callable[[str], bytes | None]
DigestBefore = Callable[[int], str]
"""The SHA-256 of the log before an offset."""

FAULT_TEXT: dict[Fault, str] = {
    "shape": "is not a complete event line",
    "seal": "was changed, or was written without the key",
    "sequence": "does not have the next sequence number",
    "foreign": "belongs to another run",
    "epoch": "has an older epoch than the line before it",
    "after_end": "follows the event that ended the run",
    "prefix": "adopts other lines than the ones before it",
    "key": "goes on with a key that is not on this machine",
}
_ADOPTION = b'"type":"run_adopted"'


class Chain:
    """Seals lines in order, or checks seals made before."""

    def __init__(self, secret: bytes, head: bytes = GENESIS) -> None:
        key = secret.ljust(_BLOCK, b"\0")
        # Cache the two keyed states of HMAC: half the cost of hmac.digest per line.
        self._inner = hashlib.sha256(key.translate(_INNER))
        self._outer = hashlib.sha256(key.translate(_OUTER))
        self.head = head

    def seal(self, body: bytes) -> bytes:
        """Seal the next line and advance the head."""
        # Same as `seal_after`, inlined because it runs for every event.
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(self.head + body)
        outer.update(inner.digest())
        self.head = seal = outer.hexdigest()[:MAC_HEX_CHARS].encode()
        return seal

    def seal_after(self, head: bytes, body: bytes) -> bytes:
        """Compute the seal of `body` after `head` without advancing."""
        inner = self._inner.copy()
        inner.update(head + body)
        outer = self._outer.copy()
        outer.update(inner.digest())
        return outer.hexdigest()[:MAC_HEX_CHARS].encode()


def split_line(line: bytes) -> tuple[bytes, bytes] | None:
    """Split a line without its newline into body and seal; None when it is malformed."""
    body, tail = line[:-MAC_TAIL_BYTES], line[-MAC_TAIL_BYTES:]
    if not (body.startswith(b"{") and tail.startswith(MAC_FIELD) and tail.endswith(b'"}')):
        return None
    return body, tail[len(MAC_FIELD) : -2]


def tag(secret: bytes, domain: str, data: bytes) -> str:
    """Compute a keyed hash for the log's side files; `domain` separates it from the chain."""
    return hmac.digest(secret, domain.encode() + b"\n" + data, "sha256")[:16].hex()


def is_equal(left: AnyStr, right: AnyStr) -> bool:
    """Compare two seals in constant time, also when one is not ASCII."""
    return hmac.compare_digest(_bytes(left), _bytes(right))


def _bytes(seal: str | bytes) -> bytes:
    return seal.encode() if isinstance(seal, str) else seal


class Line(NamedTuple):
    """One line without its newline; `complete` says whether the newline was there."""

    offset: int
    data: bytes
    complete: bool


def read_lines(fd: int, offset: int = 0, *, end: int | None = None, step: int | None = None) -> Iterator[Line]:
    """Read lines from `offset` on, `step` bytes at a time; the last may be incomplete or too long."""
    parts: list[bytes] = []
    start = offset
    size = step or CHUNK
    while chunk := os.pread(fd, size if end is None else max(0, min(size, end - offset)), offset):
        offset += len(chunk)
        *ends, remainder = chunk.split(b"\n")
        for piece in ends:
            data = b"".join((*parts, piece))
            parts.clear()
            yield Line(start, data, complete=True)
            start += len(data) + 1
        parts.append(remainder)
        if offset - start > MAX_LINE_BYTES:
            break
    if data := b"".join(parts):
        yield Line(start, data, complete=False)


def read_line_at(fd: int, offset: int = 0) -> Line | None:
    """Read the line at `offset` with small reads."""
    return next(read_lines(fd, offset, step=_SMALL), None)


def read_line_before(fd: int, offset: int) -> bytes | None:
    """Read the complete line that ends at `offset`; None when no line ends there."""
    size = _SMALL
    while offset > 0 and size < 8 * MAX_LINE_BYTES:
        start = max(0, offset - size)
        data = os.pread(fd, offset - start, start)
        if not data.endswith(b"\n"):
            return None
        cut = data.rfind(b"\n", 0, -1)
        if cut >= 0 or start == 0:
            return data[cut + 1 : -1]
        size *= 8
    return None


def prefix_digest(fd: int, size: int) -> str:
    """Compute the SHA-256 of the first `size` bytes."""
    digest = hashlib.sha256()
    offset = 0
    while offset < size and (chunk := os.pread(fd, min(CHUNK, size - offset), offset)):
        digest.update(chunk)
        offset += len(chunk)
    return digest.hexdigest()


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """After `seq` events, `offset` bytes and the seal `head`."""

    seq: int = 0
    offset: int = 0
    head: str = "0" * 32
    epoch: int = 0
    ended: bool = False
    version: int = LOG_VERSION
    key_id: str = ""


class Verifier:
    """Verifies a log from a trusted position; without the key it checks everything but authenticity."""

    def __init__(self, run_id: str, find_secret: FindSecret, start: Position, digest_before: DigestBefore) -> None:
        self.position = start
        self.unchecked = 0
        self.lost_trust_at: Position | None = None
        """Where the log continued under a missing key, unless a later adoption vouches for it."""
        self._run_id = run_id
        self._find_secret = find_secret
        self._digest_before = digest_before
        self._chain = self._find_chain(start.key_id)
        self._chains = [self._chain] if self._chain is not None else []

    @property
    def key_present(self) -> bool:
        """Whether the lines from here on can be authenticated."""
        return self._chain is not None

    def check(self, line: bytes) -> Fault | None:
        """Verify the next line, without its newline; advances only when it is valid."""
        parts = split_line(line)
        if parts is None:
            return "shape"
        body, seal = parts
        try:
            adopted = _read_adoption(body + b"}").payload if _ADOPTION in body[:64] else None
        except msgspec.MsgspecError:
            return "shape"
        chain = self._chain
        if adopted is not None:
            chain = self._find_chain(adopted.key_id)
            self._chains += [chain] if chain is not None else []
        if chain is not None and not is_equal(chain.seal_after(self.position.head.encode(), body), seal):
            return "seal"
        try:
            wire = decode_wire(line)
        except msgspec.MsgspecError:
            return "shape"
        fault = self._check_order(wire) or self._check_adoption(adopted, chain)
        if fault is None:
            self._trust(adopted, chain)
            self._advance(wire, seal.decode(), len(line) + 1)
        return fault

    def is_successor(self, previous: bytes, line: bytes) -> bool:
        """Return whether `line` is a valid successor of `previous`: the damage is not at the end then."""
        parts = split_line(line)
        if parts is None:
            return False
        if any(self._has_valid_seal(chain, previous, *parts) for chain in self._chains):
            return True
        return self._chain is None and _looks_like_successor(previous, line)

    def _has_valid_seal(self, chain: Chain, previous: bytes, body: bytes, seal: bytes) -> bool:
        head = self.position.head.encode()
        # The previous line may be damaged in its seal or in its body: try the stored seal and the expected one.
        heads = (previous[-MAC_HEX_CHARS - 2 : -2], chain.seal_after(head, previous[:-MAC_TAIL_BYTES]), head)
        return any(is_equal(chain.seal_after(candidate, body), seal) for candidate in heads)

    def _find_chain(self, key_id: str) -> Chain | None:
        secret = self._find_secret(key_id)
        return Chain(secret) if secret is not None else None

    def _check_adoption(self, adopted: RunAdopted | None, chain: Chain | None) -> Fault | None:
        """Check that an adoption vouches, by digest, for the unauthenticated lines before it."""
        if adopted is None or chain is None or self._chain is not None:
            return None
        return None if is_equal(adopted.prefix_sha256, self._digest_before(self.position.offset)) else "prefix"

    def _trust(self, adopted: RunAdopted | None, chain: Chain | None) -> None:
        if chain is None:
            self.unchecked += 1
            if self._chain is not None:
                self.lost_trust_at = self.position
        else:
            self.lost_trust_at = None
        self._chain = chain
        if adopted is not None:
            self.position = msgspec.structs.replace(self.position, key_id=adopted.key_id)

    def _check_order(self, wire: Wire) -> Fault | None:
        position = self.position
        if position.ended:
            return "after_end"
        if wire.seq != position.seq:
            return "sequence"
        if wire.run_id != self._run_id:
            return "foreign"
        return "epoch" if wire.epoch < position.epoch else None

    def _advance(self, wire: Wire, seal: str, size: int) -> None:
        position = self.position
        self.position = Position(
            seq=position.seq + 1,
            offset=position.offset + size,
            head=seal,
            epoch=wire.epoch,
            ended=wire.type in TERMINAL_TYPES,
            version=position.version,
            key_id=position.key_id,
        )


def _looks_like_successor(previous: bytes, line: bytes) -> bool:
    """Return whether the sequence numbers are consecutive; all that can be checked without the key."""
    try:
        first, second = decode_wire(previous), decode_wire(line)
    except msgspec.MsgspecError:
        return False
    return first.run_id == second.run_id and second.seq == first.seq + 1


class _Adoption(msgspec.Struct):
    payload: RunAdopted


class _Creation(msgspec.Struct):
    schema: str = ""
    key_id: str = ""


_read_adoption = build_decoder(_Adoption)
_read_creation = build_decoder(_Creation)


class LogHeader(msgspec.Struct, frozen=True):
    """The metadata in the first line of a log."""

    run_id: str
    version: int
    key_id: str


def read_header(first_line: bytes) -> LogHeader | None:
    """Read version and key from the first line; version 0 without them; None when it is not an event."""
    try:
        wire = decode_wire(first_line)
        creation = _read_creation(wire.payload)
    except msgspec.MsgspecError:
        return None
    if wire.type != "run_created":
        # Version 0 had no seals: a sealed first line of another type is damaged, not old.
        return None if wire.mac or wire.seq >= 0 else LogHeader(run_id=wire.run_id, version=0, key_id="")
    return LogHeader(run_id=wire.run_id, version=check_schema(creation.schema), key_id=creation.key_id)


def check_schema(schema: str) -> int:
    """Parse the version of a schema name such as `skills-runtime.log/v1`; raise `LogTooNew` for a newer one."""
    family, _, number = schema.rpartition("/v")
    version = int(number) if number.isdecimal() and number.isascii() and len(number) < 9 else LOG_VERSION + 1
    if family != LOG_SCHEMA.rpartition("/v")[0] or version > LOG_VERSION:
        raise LogTooNew(f"this log has the format `{schema[:80]}`, and this version reads up to `{LOG_SCHEMA}`")
    return version
