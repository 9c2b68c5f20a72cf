"""Says of each line, in order, whether it is the one that was written; stops believing at the first that is not."""

from collections.abc import Callable
from typing import Literal

import msgspec

from skills_runtime.errors import LogTooNew
from skills_runtime.events import LOG_SCHEMA, LOG_VERSION, TERMINAL_TYPES
from skills_runtime.events.envelope import MAC_HEX_CHARS, MAC_TAIL_BYTES, Wire, decode_wire, reader
from skills_runtime.events.payloads import RunAdopted
from skills_runtime.runs.log.chain import Chain, same, split_line
from skills_runtime.runs.log.position import Position

Fault = Literal["shape", "seal", "sequence", "foreign", "epoch", "after_end", "prefix", "key"]
FindSecret = Callable[[str], bytes | None]
DigestBefore = Callable[[int], str]
"""The SHA-256 of the log before an offset."""

MEANING: dict[Fault, str] = {
    "shape": "is not a complete event line",
    "seal": "was changed, or was written by somebody without the key",
    "sequence": "does not have the next sequence number",
    "foreign": "belongs to another run",
    "epoch": "has an older epoch than the line before it",
    "after_end": "follows the event that ended the run",
    "prefix": "adopts other lines than the ones before it",
    "key": "goes on with a key that is not on this machine",
}
_ADOPTION = b'"type":"run_adopted"'


class Verifier:
    """Walks a log from a trusted position; where the key is not here it checks everything but authenticity."""

    def __init__(self, run_id: str, find_secret: FindSecret, start: Position, digest_before: DigestBefore) -> None:
        self.position = start
        self.unchecked = 0
        self.lost_trust_at: Position | None = None
        """Where the log went on with a key that is not here, unless a later adoption made up for it."""
        self._run_id = run_id
        self._find_secret = find_secret
        self._digest_before = digest_before
        self._chain = self._chain_of(start.key_id)
        self._seen = [self._chain] if self._chain is not None else []

    @property
    def key_present(self) -> bool:
        """Whether the lines from here on can be authenticated."""
        return self._chain is not None

    def check(self, line: bytes) -> Fault | None:
        """Take one line without its newline; anything here changes only when it is good."""
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
            chain = self._chain_of(adopted.key_id)
            self._seen += [chain] if chain is not None else []
        if chain is not None and not same(chain.seal_after(self.position.head.encode(), body), seal):
            return "seal"
        try:
            wire = decode_wire(line)
        except msgspec.MsgspecError:
            return "shape"
        fault = self._order(wire) or self._binding(adopted, chain)
        if fault is None:
            self._trust(adopted, chain)
            self._advance(wire, seal.decode(), len(line) + 1)
        return fault

    def links(self, before: bytes, line: bytes) -> bool:
        """Whether `line` is a genuine successor of `before`: shows that damage lies in the middle, not at the end."""
        parts = split_line(line)
        if parts is None:
            return False
        if any(self._seals(chain, before, *parts) for chain in self._seen):
            return True
        return self._chain is None and _follows(before, line)

    def _seals(self, chain: Chain, before: bytes, body: bytes, seal: bytes) -> bool:
        head = self.position.head.encode()
        # The line before may be damaged in its seal or anywhere else: the seal it has, and the one it should have.
        heads = (before[-MAC_HEX_CHARS - 2 : -2], chain.seal_after(head, before[:-MAC_TAIL_BYTES]), head)
        return any(same(chain.seal_after(one, body), seal) for one in heads)

    def _chain_of(self, key_id: str) -> Chain | None:
        secret = self._find_secret(key_id)
        return Chain(secret) if secret is not None else None

    def _binding(self, adopted: RunAdopted | None, chain: Chain | None) -> Fault | None:
        """An adoption vouches for the lines before it, which it could not authenticate, by their digest."""
        if adopted is None or chain is None or self._chain is not None:
            return None
        return None if same(adopted.prefix_sha256, self._digest_before(self.position.offset)) else "prefix"

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

    def _order(self, wire: Wire) -> Fault | None:
        at = self.position
        if at.ended:
            return "after_end"
        if wire.seq != at.seq:
            return "sequence"
        if wire.run_id != self._run_id:
            return "foreign"
        return "epoch" if wire.epoch < at.epoch else None

    def _advance(self, wire: Wire, seal: str, size: int) -> None:
        at = self.position
        self.position = Position(
            seq=at.seq + 1,
            offset=at.offset + size,
            head=seal,
            epoch=wire.epoch,
            ended=wire.type in TERMINAL_TYPES,
            version=at.version,
            key_id=at.key_id,
        )


def _follows(before: bytes, line: bytes) -> bool:
    """Whether two lines look like neighbours; all that can be said without the key."""
    try:
        first, second = decode_wire(before), decode_wire(line)
    except msgspec.MsgspecError:
        return False
    return first.run_id == second.run_id and second.seq == first.seq + 1


class _Adoption(msgspec.Struct):
    payload: RunAdopted


class _Birth(msgspec.Struct):
    schema: str = ""
    key_id: str = ""


_read_adoption = reader(_Adoption)
_read_birth = reader(_Birth)


class LogHeader(msgspec.Struct, frozen=True):
    """What the first line says about the log as a whole."""

    run_id: str
    version: int
    key_id: str


def read_header(first_line: bytes) -> LogHeader | None:
    """Version and key of a log; a log without them is version 0; None when the line is no event at all."""
    try:
        wire = decode_wire(first_line)
        birth = _read_birth(wire.payload)
    except msgspec.MsgspecError:
        return None
    if wire.type != "run_created":
        # Version 0 had no seals: a sealed line that is no birth is a damaged one, not an old one.
        return None if wire.mac or wire.seq >= 0 else LogHeader(run_id=wire.run_id, version=0, key_id="")
    return LogHeader(run_id=wire.run_id, version=check_schema(birth.schema), key_id=birth.key_id)


def check_schema(schema: str) -> int:
    """The version in a schema name such as `skills-runtime.log/v1`; refuses a newer one."""
    family, _, number = schema.rpartition("/v")
    version = int(number) if number.isdecimal() and number.isascii() and len(number) < 9 else LOG_VERSION + 1
    if family != LOG_SCHEMA.rpartition("/v")[0] or version > LOG_VERSION:
        raise LogTooNew(f"this log has the format `{schema[:80]}`, and this version reads up to `{LOG_SCHEMA}`")
    return version
