"""Lines to events and back: pure, and never surprised by what it does not know.

Old logs always load: one function per change, from one version to the next. Version 0 is the log of
skills-runtime-sdk 0.1: six keys, no `seq`, no `mac`. Digests are taken of one spelling of a value (RFC 8785).
"""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.events import payloads
from skills_runtime.events.envelope import Event, Payload, Unknown, build_decoder, decode_wire

Data = dict[str, Any]
Upcaster = Callable[[str, Data], tuple[str, Data]]


def _upcast_v0(event_type: str, data: Data) -> tuple[str, Data]:
    """Add the `name` that version 0 omitted on some calls, and split its combined questions."""
    if event_type == "tool_call_requested":
        return event_type, {"name": data.get("tool", ""), "tool": data.get("name", ""), **data}
    if event_type == "human_request" and isinstance(data.get("questions"), list):
        questions: list[Data] = [question for question in data["questions"] if isinstance(question, dict)]
        texts = [str(question.get("question", "")) for question in questions]
        return event_type, {"question": "\n".join(texts), **data}
    return event_type, data


UPCASTERS: tuple[Upcaster, ...] = (_upcast_v0,)
"""The function at index n reads version n and returns version n + 1."""


def upcast(version: int, event_type: str, data: Data) -> tuple[str, Data]:
    """Upgrade one payload from `version` to the current one."""
    for step in UPCASTERS[version:]:
        event_type, data = step(event_type, data)
    return event_type, data


PAYLOAD_TYPES: dict[str, type[Payload]] = {
    cls.event_type: cls
    for cls in vars(payloads).values()
    if isinstance(cls, type) and issubclass(cls, Payload) and cls is not Payload
}
"""Every event type that this version understands."""

_DECODERS = {name: build_decoder(cls) for name, cls in PAYLOAD_TYPES.items()}
_encode = msgspec.json.Encoder().encode
_decode_any = build_decoder(dict[str, Any])


def encode_payload(payload: Payload) -> bytes:
    """Encode the payload as JSON."""
    return _encode(payload.data if type(payload) is Unknown else payload)


def decode_payload(event_type: str, raw: bytes | msgspec.Raw) -> Payload:
    """Decode the typed payload, or `Unknown` if its type or shape is not ours."""
    decode = _DECODERS.get(event_type)
    if decode is not None:
        try:
            return decode(raw)
        except msgspec.ValidationError:
            pass  # a shape of another version: keep it, do not interpret it
    return Unknown(data=_decode_any(raw))


def decode_event(line: bytes, *, version: int = payloads.LOG_VERSION, index: int = -1) -> Event:
    """Decode one line of a log of `version`; `index` numbers lines without a `seq`."""
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


def canonical_json(value: Any) -> bytes:
    """Return the canonical bytes of plain JSON data."""
    import rfc8785  # only a few commands need it

    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, RecursionError) as error:
        raise ValidationFailed(
            f"a value has no canonical JSON form: {error}",
            hint="use integers below 2**53, finite numbers and valid text",
        ) from error


def fingerprint(value: Any) -> str:
    """Return `sha256:` and the hex digest of the canonical bytes."""
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()
