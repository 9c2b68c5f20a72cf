"""Projections are folds: it does not matter where the reading was interrupted, nor whether it was saved meanwhile."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.events import Payload
from skills_runtime.events.payloads import (
    ArtifactManifestWritten,
    Descriptor,
    FileOperation,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    LogRepaired,
    RunCreated,
    RunStateChanged,
    RunWaitingHuman,
)
from skills_runtime.projections import (
    Conversation,
    FileRecords,
    Metrics,
    Pending,
    Projection,
    RunState,
    RunView,
    Timeline,
    UsageTotals,
    fold,
)
from skills_runtime.render.transcript import Transcript
from tests.support.events import numbered
from tests.support.runs import sample_events

THING = Descriptor(name="n", sha256="0" * 64, size=1)
MORE: list[Payload] = [
    RunCreated(schema="s", key_id="k", session_id="s", task_id="t", profile_id="p", config_fingerprint="f"),
    RunStateChanged(before="pending", after="running"),
    LlmRequestStarted(model="other"),
    LlmResponseDelta(delta_type="text", text="x"),
    LlmResponseFinished(finish_reason="stop"),
    FileOperation(op="write", path="workspace/a", ok=True, size=1, sha256="a" * 64),
    FileOperation(op="read", path="workspace/b", ok=True, size=1, sha256="b" * 64),
    FileOperation(op="delete", path="workspace/a", ok=True),
    LogRepaired(reason="torn", offset=1, removed=THING),
    ArtifactManifestWritten(manifest=THING, artifacts=1),
    RunWaitingHuman(message="?"),
]
HISTORIES = st.lists(st.sampled_from([*sample_events(end=True), *MORE]), max_size=25)
PROJECTIONS = [RunState, Conversation, FileRecords, Metrics, Pending, RunView, Timeline, UsageTotals]


@pytest.mark.parametrize("new", PROJECTIONS)
@given(history=HISTORIES, cut=st.integers(min_value=0, max_value=25))
def test_reading_in_two_parts_gives_the_same(new: Callable[[], Projection], history: list[Payload], cut: int) -> None:
    events = numbered(history)
    assert fold(events[cut:], fold(events[:cut], new())) == fold(events, new())


@given(history=HISTORIES, cut=st.integers(min_value=0, max_value=25))
def test_a_view_that_was_saved_and_loaded_goes_on_like_one_that_was_not(history: list[Payload], cut: int) -> None:
    events = numbered(history)
    saved = msgspec.json.encode(fold(events[:cut], RunView()))
    assert fold(events[cut:], msgspec.json.decode(saved, type=RunView)) == fold(events, RunView())


@given(history=HISTORIES, cut=st.integers(min_value=0, max_value=25))
def test_the_transcript_of_a_part_is_the_beginning_of_the_whole(history: list[Payload], cut: int) -> None:
    transcript = Transcript()
    pieces = [transcript.render(event) for event in numbered(history)]
    again = Transcript()
    assert "".join(pieces).startswith("".join(again.render(event) for event in numbered(history)[:cut]))


def test_two_projections_never_share_what_they_learned() -> None:
    used = fold(numbered([*sample_events(), *MORE]), RunView())
    assert RunView() != used
    assert RunView().conversation.messages == []
