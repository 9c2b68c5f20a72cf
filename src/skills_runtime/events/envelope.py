"""The envelope: one event is one JSON line with a fixed order of keys, `mac` last.

Knows nothing of files, keys or runs.
"""

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import msgspec

T = TypeVar("T")

MAC_FIELD = b',"mac":"'
MAC_HEX_CHARS = 32
MAC_TAIL_BYTES = len(MAC_FIELD) + MAC_HEX_CHARS + len(b'"}')


class Payload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The content of one kind of event; a subclass names its type with `event_type`."""

    event_type: ClassVar[str] = ""


class Unknown(Payload, frozen=True):
    """The payload of an unknown type: kept and relayed, never interpreted."""

    data: dict[str, Any]


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event of a run."""

    seq: int
    type: str
    timestamp: str
    run_id: str
    payload: Payload
    turn_id: str | None = None
    step_id: str | None = None
    epoch: int = 0
    mac: str = ""


class Wire(msgspec.Struct, frozen=True):
    """The envelope as decoded from a line, its payload still raw."""

    type: str
    timestamp: str
    run_id: str
    payload: msgspec.Raw
    seq: int = -1
    turn_id: str | None = None
    step_id: str | None = None
    epoch: int = 0
    mac: str = ""


def build_decoder(kind: type[T]) -> Callable[[bytes | msgspec.Raw], T]:
    """Build a decoder of JSON bytes that only ever raises `msgspec.MsgspecError`."""
    decode = msgspec.json.Decoder(kind).decode

    def read(data: bytes | msgspec.Raw) -> T:
        try:
            return decode(data)
        except (UnicodeDecodeError, RecursionError) as error:
            raise msgspec.DecodeError(str(error)) from error

    return read


decode_wire = build_decoder(Wire)
"""Decodes the envelope of one line."""


def data_of(payload: Payload) -> dict[str, Any]:
    """Return the payload as plain JSON data."""
    return payload.data if isinstance(payload, Unknown) else msgspec.to_builtins(payload)
