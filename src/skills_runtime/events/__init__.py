"""The vocabulary of a run: envelope, typed payloads, codec and upcasters."""

from skills_runtime.events.codec import (
    PAYLOAD_TYPES,
    canonical_json,
    decode_event,
    decode_payload,
    encode_payload,
    fingerprint,
)
from skills_runtime.events.envelope import Event, Payload, Unknown, data_of
from skills_runtime.events.payloads import LOG_SCHEMA, LOG_VERSION, TERMINAL_TYPES

__all__ = [
    "LOG_SCHEMA",
    "LOG_VERSION",
    "PAYLOAD_TYPES",
    "TERMINAL_TYPES",
    "Event",
    "Payload",
    "Unknown",
    "canonical_json",
    "data_of",
    "decode_event",
    "decode_payload",
    "encode_payload",
    "fingerprint",
]
