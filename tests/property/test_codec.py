"""Lines to events and back: nothing is lost, nothing unknown is refused, and no bytes can surprise the reader."""

from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.events import LOG_VERSION, Event, Unknown, data_of, decode_event, decode_payload, encode_payload
from skills_runtime.runs.log.chain import Position, Verifier, read_header
from tests.support.events import JSON, NAMES, OBJECTS, TEXT, events, line_of, payloads_of

OURS = (msgspec.MsgspecError, SkillsRuntimeError)
DEEP = b'{"seq":0,"type":"run_created","timestamp":"","run_id":"","payload":' + b"[" * 100_000


@given(event=events())
def test_an_event_comes_back_as_it_was(event: Event) -> None:
    assert decode_event(line_of(event)) == event


@given(data=st.data(), name=NAMES)
def test_a_payload_comes_back_as_it_was(data: st.DataObject, name: str) -> None:
    payload = data.draw(payloads_of(name))
    assert decode_payload(name, encode_payload(payload)) == payload
    assert msgspec.json.decode(encode_payload(payload)) == data_of(payload)


@given(name=TEXT.filter(bool).map("x_".__add__), data=OBJECTS)
def test_an_unknown_type_is_kept_whole(name: str, data: dict[str, Any]) -> None:
    payload = decode_payload(name, msgspec.json.encode(data))
    assert payload == Unknown(data=data)
    assert msgspec.json.decode(encode_payload(payload)) == data


@given(event=events(), extra=JSON)
def test_unknown_fields_do_no_harm(event: Event, extra: Any) -> None:
    payload = {**data_of(event.payload), "a field of the future": extra}
    line = line_of(event, payload=payload, another=extra)
    decoded = decode_event(line)
    if isinstance(event.payload, Unknown):
        assert decoded.payload == Unknown(data=payload)
    else:
        assert decoded == event


@given(data=st.data(), name=NAMES, junk=JSON)
def test_a_known_type_of_another_shape_is_kept_but_not_interpreted(data: st.DataObject, name: str, junk: Any) -> None:
    shape = {**data_of(data.draw(payloads_of(name))), "call_id": {"was": junk}, "schema": [junk], "tool": None}
    payload = decode_payload(name, msgspec.json.encode(shape))
    assert isinstance(payload, Unknown) is False or payload == Unknown(data=shape)


def spoilt_lines() -> st.SearchStrategy[bytes]:
    """Bytes, and lines of ours with some bytes replaced."""

    def spoil(event: Event, at: int, junk: bytes) -> bytes:
        line = line_of(event)
        return line[: at % len(line)] + junk + line[at % len(line) + len(junk) :]

    return st.binary(max_size=60) | st.builds(spoil, events(), st.integers(0, 2000), st.binary(min_size=1, max_size=4))


@given(line=spoilt_lines(), version=st.integers(0, LOG_VERSION))
@example(line=DEEP, version=1)
@example(line=DEEP, version=0)
@example(line=b'{"type":"human_request","timestamp":"","run_id":"","payload":{"questions":5}}', version=0)
@example(line=b'{"type":"human_request","timestamp":"","run_id":"","payload":{"questions":["x",null]}}', version=0)
@example(line=b'{"type":"\xff","timestamp":"","run_id":"","payload":{}}', version=1)
@example(line=b'{"type":"x","timestamp":"","run_id":"","payload":{"a":"\xff"}}', version=1)
@example(line=b'{"type":"x","timestamp":"","run_id":"","payload":{"a":1e999}}', version=1)
@example(line=b'{"type":"x","timestamp":"","run_id":"","payload":' + b'{"a":' * 5000 + b"1" + b"}" * 5001, version=1)
def test_no_bytes_surprise_the_decoder(line: bytes, version: int) -> None:
    try:
        event = decode_event(line, version=version, index=7)
    except OURS:
        return
    assert isinstance(event.payload, msgspec.Struct)


@given(line=spoilt_lines())
@example(line=DEEP)
@example(line=b'{"type":"run_created","timestamp":"","run_id":"\xff","payload":{}}')
@example(
    line=b'{"type":"run_created","timestamp":"","run_id":"","payload":{"schema":"skills-runtime.log/v%b"}}'
    % (b"9" * 9999)
)
@example(line='{"type":"run_created","timestamp":"","run_id":"","payload":{"schema":"skills-runtime.log/v٣"}}'.encode())
@example(line=b'{"type":"run_created","timestamp":"","run_id":"","payload":{"schema":5}}')
@example(line=b'{"type":"run_created","timestamp":"","run_id":"","payload":[]}')
def test_no_bytes_surprise_the_reader_of_headers(line: bytes) -> None:
    try:
        header = read_header(line)
    except OURS:
        return
    assert header is None or 0 <= header.version <= LOG_VERSION


@pytest.mark.parametrize("secret", [b"k" * 32, None])
@given(line=spoilt_lines())
@example(line=DEEP + b',"mac":"' + b"0" * 32 + b'"}')
@example(line=b'{"seq":0,"type":"run_adopted","payload":"\xff","mac":"' + b"0" * 32 + b'"}')
@example(line=b'{"seq":0,"type":"x","timestamp":"","run_id":"r","payload":{},"mac":"' + "ü".encode() * 16 + b'"}')
def test_no_bytes_surprise_the_verifier_or_are_believed_by_it(secret: bytes | None, line: bytes) -> None:
    verifier = Verifier("run_test", lambda key_id: secret, Position(key_id="k"), lambda size: "")
    fault = verifier.check(line)
    assert fault is not None or (secret is None and verifier.unchecked == 1)
    assert verifier.is_successor(line, line) in (True, False)
