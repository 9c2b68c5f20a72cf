"""Says of each line, in order, whether it is the one that was written; stops believing at the first that is not."""

import hashlib
from collections.abc import Callable
from typing import Literal

import msgspec

from skills_runtime.errors import LogTooNew
from skills_runtime.events import LOG_SCHEMA, LOG_VERSION, TERMINAL_TYPES
from skills_runtime.events.envelope import Wire, decode_wire
from skills_runtime.events.payloads import RunAdopted
from skills_runtime.runs.log.chain import Chain, same, split_line
from skills_runtime.runs.log.position import Position

Fault = Literal["shape", "seal", "sequence", "foreign", "epoch", "after_end", "prefix"]
FindSecret = Callable[[str], bytes | None]

MEANING: dict[Fault, str] = {
    "shape": "is not a complete event line",
    "seal": "was changed, or was written by somebody without the key",
    "sequence": "does not have the next sequence number",
    "foreign": "belongs to another run",
    "epoch": "has an older epoch than the line before it",
    "after_end": "follows the event that ended the run",
    "prefix": "adopts other lines than the ones before it",
}
_ADOPTION = b'"type":"run_adopted"'


class Verifier:
    """Walks a log from a trusted position; where the key is not here it checks everything but authenticity."""

    def __init__(self, run_id: str, find_secret: FindSecret, start: Position) -> None:
        self.position = start
        self.unchecked = 0
        self._run_id = run_id
        self._find_secret = find_secret
        secret = find_secret(start.key_id)
        self._chain = Chain(secret) if secret is not None else None
        self._prefix = hashlib.sha256()

    @property
    def key_present(self) -> bool:
        """Whether the lines from here on can be authenticated."""
        return self._chain is not None

    def check(self, line: bytes) -> Fault | None:
        """Take one line without its newline; the position moves on only when it is good."""
        parts = split_line(line)
        if parts is None:
            return "shape"
        body, seal = parts
        if _ADOPTION in body[:64]:
            fault = self._adopt(body)
            if fault is not None:
                return fault
        if self._chain is None:
            self.unchecked += 1
            self._prefix.update(line + b"\n")
        elif not same(self._chain.seal_after(self.position.head.encode(), body), seal):
            return "seal"
        try:
            wire = decode_wire(line)
        except msgspec.MsgspecError:
            return "shape"
        fault = self._order(wire)
        if fault is None:
            self._advance(wire, seal.decode(), len(line) + 1)
        return fault

    def _adopt(self, body: bytes) -> Fault | None:
        """Change to the adopter's key; an adoption binds the lines before it, which it could not authenticate."""
        try:
            adopted = msgspec.json.decode(body + b"}", type=_Adoption).payload
        except msgspec.MsgspecError:
            return "shape"
        secret = self._find_secret(adopted.key_id)
        if secret is None:
            self._chain = None
            return None
        if self._chain is None and not same(adopted.prefix_sha256, self._prefix.hexdigest()):
            return "prefix"
        self._chain = Chain(secret)
        self.position = msgspec.structs.replace(self.position, key_id=adopted.key_id)
        return None

    def links(self, before: bytes, line: bytes) -> bool:
        """Whether `line` is a genuine successor of `before`: shows that damage lies in the middle, not at the end."""
        first, second = split_line(before), split_line(line)
        if first is None or second is None or self._chain is None:
            return False
        return any(
            same(self._chain.seal_after(head, second[0]), second[1]) for head in (first[1], self.position.head.encode())
        )

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


class _Adoption(msgspec.Struct):
    payload: RunAdopted


class _Birth(msgspec.Struct):
    schema: str = ""
    key_id: str = ""


class LogHeader(msgspec.Struct, frozen=True):
    """What the first line says about the log as a whole."""

    run_id: str
    version: int
    key_id: str


def read_header(first_line: bytes) -> LogHeader | None:
    """Version and key of a log; a log without them is version 0; None when the line is no event at all."""
    try:
        wire = decode_wire(first_line)
        birth = msgspec.json.decode(wire.payload, type=_Birth)
    except msgspec.MsgspecError:
        return None
    if wire.type != "run_created":
        return LogHeader(run_id=wire.run_id, version=0, key_id="")
    return LogHeader(run_id=wire.run_id, version=check_schema(birth.schema), key_id=birth.key_id)


def check_schema(schema: str) -> int:
    """The version in a schema name such as `skills-runtime.log/v1`; refuses a newer one."""
    family, _, number = schema.rpartition("/v")
    version = int(number) if number.isdecimal() and number.isascii() else LOG_VERSION + 1
    if family != LOG_SCHEMA.rpartition("/v")[0] or version > LOG_VERSION:
        raise LogTooNew(f"this log has the format `{schema[:80]}`, and this version reads up to `{LOG_SCHEMA}`")
    return version
