"""Lines to events and back: nothing known is lost, nothing unknown is fatal."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.events import (
    LOG_VERSION,
    PAYLOAD_TYPES,
    TERMINAL_TYPES,
    Payload,
    Unknown,
    data_of,
    decode_event,
    decode_payload,
    encode_payload,
)
from skills_runtime.events.payloads import RunFailed, RunStateChanged, ToolCallRequested
from tests.support.runs import sample_events

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(sorted(PAYLOAD_TYPES)) | TEXT


def _line(event_type: str, payload: Any, **rest: Any) -> bytes:
    envelope = {"type": event_type, "timestamp": "2026-01-01T00:00:00Z", "run_id": "r", "payload": payload, **rest}
    return json.dumps(envelope).encode()


@pytest.mark.parametrize("payload", sample_events(end=True))
def test_a_payload_survives_being_written_and_read(payload: Payload) -> None:
    assert decode_payload(payload.event_type, encode_payload(payload)) == payload


def test_a_state_change_is_written_with_the_words_from_and_to() -> None:
    assert data_of(RunStateChanged(before="pending", after="running")) == {"from": "pending", "to": "running"}


def test_an_unknown_type_is_kept_and_relayed() -> None:
    event = decode_event(_line("moon_landed", {"crew": ["a", 1, None]}, seq=3))
    assert (event.type, event.seq) == ("moon_landed", 3)
    assert event.payload == Unknown(data={"crew": ["a", 1, None]})
    assert json.loads(encode_payload(event.payload)) == {"crew": ["a", 1, None]}


def test_a_known_type_of_another_shape_is_kept_as_unknown() -> None:
    assert decode_event(_line("run_failed", {"error_kind": 7})).payload == Unknown(data={"error_kind": 7})


def test_a_field_a_later_version_adds_is_ignored() -> None:
    payload = decode_event(_line("run_failed", {"error_kind": "k", "message": "m", "colour": "red"})).payload
    assert payload == RunFailed(error_kind="k", message="m")


def test_an_envelope_key_a_later_version_adds_is_ignored() -> None:
    assert decode_event(_line("run_failed", {"error_kind": "k", "message": "m"}, span="s", seq=1)).seq == 1


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="torn"),
        pytest.param(b"null", id="null"),
        pytest.param(b'{"type":1}', id="poor"),
        pytest.param(b'{"type":"t","timestamp":"","run_id":"r","payload":[]}', id="payload"),
        pytest.param(b"\xff", id="bytes"),
        pytest.param(b"[" * 9999, id="deep"),
    ],
)
def test_a_line_that_is_no_event_fails_in_one_way_only(line: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode_event(line)


@given(event_type=NAMES, payload=st.dictionaries(TEXT, JSON, max_size=4), version=st.sampled_from([0, LOG_VERSION]))
def test_no_payload_of_any_version_is_a_surprise(event_type: str, payload: dict[str, Any], version: int) -> None:
    event = decode_event(_line(event_type, payload), version=version, index=4)
    assert event.seq == 4
    if isinstance(event.payload, Unknown):
        json.loads(encode_payload(event.payload))


@given(payload=st.dictionaries(TEXT, JSON, max_size=4))
def test_an_unknown_payload_is_relayed_without_loss(payload: dict[str, Any]) -> None:
    event = decode_event(_line("moon_landed", payload))
    assert json.loads(encode_payload(event.payload)) == payload


def test_a_line_of_version_0_gets_its_number_from_its_place() -> None:
    assert decode_event(_line("run_started", {"task": "t"}), version=0, index=5).seq == 5


@pytest.mark.parametrize("given_name", ["tool", "name"])
def test_version_0_named_a_tool_by_one_of_two_keys(given_name: str) -> None:
    event = decode_event(_line("tool_call_requested", {"call_id": "c", given_name: "grep"}), version=0)
    assert isinstance(event.payload, ToolCallRequested)
    assert (event.payload.tool, event.payload.name) == ("grep", "grep")


@pytest.mark.parametrize("questions", [[{"question": "Which?"}, {"question": "Why?"}], ["odd", None], "odd", None, []])
def test_version_0_asked_several_questions_at_once_in_any_shape(questions: Any) -> None:
    event = decode_event(_line("human_request", {"call_id": "c", "questions": questions}), version=0)
    assert data_of(event.payload)["call_id"] == "c"


def test_the_terminal_types_are_types() -> None:
    assert PAYLOAD_TYPES.keys() >= TERMINAL_TYPES


def test_every_type_of_the_first_vocabulary_is_still_spoken() -> None:
    spoken = """
        run_created sandbox_created run_state_changed run_started run_completed run_failed run_cancelled
        run_waiting_human llm_request_started llm_response_delta llm_usage tool_call_requested tool_call_started
        tool_call_finished approval_requested approval_decided human_request human_response plan_updated
        file_operation artifact_manifest_written
    """
    assert PAYLOAD_TYPES.keys() >= set(spoken.split())
