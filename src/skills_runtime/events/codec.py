"""Lines to events and back: pure, and never surprised by what it does not know."""

from typing import Any

import msgspec

from skills_runtime.events import payloads
from skills_runtime.events.envelope import Event, Payload, Unknown, decode_wire, reader
from skills_runtime.events.upcast import upcast

PAYLOAD_TYPES: dict[str, type[Payload]] = {
    cls.event_type: cls
    for cls in vars(payloads).values()
    if isinstance(cls, type) and issubclass(cls, Payload) and cls is not Payload
}
"""Every event type this version understands."""

_DECODERS = {name: reader(cls) for name, cls in PAYLOAD_TYPES.items()}
_encode = msgspec.json.Encoder().encode
_decode_any = reader(dict[str, Any])


def encode_payload(payload: Payload) -> bytes:
    """The payload as JSON bytes."""
    return _encode(payload.data if type(payload) is Unknown else payload)


def decode_payload(event_type: str, raw: bytes | msgspec.Raw) -> Payload:
    """The typed payload, or `Unknown` when the type or its shape is not ours."""
    decode = _DECODERS.get(event_type)
    if decode is not None:
        try:
            return decode(raw)
        except msgspec.ValidationError:
            pass  # a shape of another version: keep it, do not interpret it
    return Unknown(data=_decode_any(raw))


def decode_event(line: bytes, *, version: int = payloads.LOG_VERSION, index: int = -1) -> Event:
    """Read one line of a log of `version`; `index` numbers lines that carry no `seq`."""
    wire = decode_wire(line)
    raw: bytes | msgspec.Raw = wire.payload
    event_type = wire.type
    if version < payloads.LOG_VERSION:
        event_type, data = upcast(version, event_type, _decode_any(raw))
        raw = _encode(data)
    return Event(
        seq=wire.seq if wire.seq >= 0 else index,
        type=event_type,
        timestamp=wire.timestamp,
        run_id=wire.run_id,
        payload=decode_payload(event_type, raw),
        turn_id=wire.turn_id,
        step_id=wire.step_id,
        epoch=wire.epoch,
        mac=wire.mac,
    )
