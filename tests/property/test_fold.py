"""Every projection is a fold: where the reading was interrupted makes no difference, nor what the events say."""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime import projections
from skills_runtime.events import Event, decode_event
from skills_runtime.projections import Conversation, FileRecords, Metrics, Pending, Projection, RunState, RunView, fold
from skills_runtime.render.transcript import Transcript, render_transcript
from tests.support.events import histories, line_of
from tests.support.examples import examples


def all_projections() -> list[type[Any]]:
    """Everything the package exports that takes in events."""
    exported = [getattr(projections, name) for name in projections.__all__]
    return [
        payload
        for payload in exported
        if isinstance(payload, type) and hasattr(payload, "apply") and payload is not Projection
    ]


def test_the_projections_are_all_here() -> None:
    names = {projection.__name__ for projection in all_projections()}
    assert names >= {
        "RunState",
        "Conversation",
        "FileRecords",
        "Pending",
        "Timeline",
        "UsageTotals",
        "Metrics",
        "RunView",
    }


@given(history=histories())
def test_folding_in_two_parts_gives_the_same_wherever_the_cut_is(history: list[Event]) -> None:
    for projection in all_projections():
        whole = fold(history, projection())
        for cut in range(len(history) + 1):
            assert fold(history[cut:], fold(history[:cut], projection())) == whole


@settings(max_examples=examples(50))
@given(history=histories())
def test_a_transcript_written_in_two_parts_is_the_same_wherever_the_cut_is(history: list[Event]) -> None:
    whole = "".join(render_transcript(history))
    for cut in range(len(history) + 1):
        first = Transcript()
        head = "".join(first.render(event) for event in history[:cut])
        second = msgspec.json.decode(msgspec.json.encode(first), type=Transcript)
        assert head + "".join(second.render(event) for event in history[cut:]) == whole


@settings(max_examples=examples(50))
@given(history=histories())
def test_a_view_is_what_its_parts_are_when_each_sees_every_event(history: list[Event]) -> None:
    view = fold(history, RunView())
    assert view.conversation == fold(history, Conversation())
    assert view.files == fold(history, FileRecords())
    assert view.pending == fold(history, Pending())


@settings(max_examples=examples(50))
@given(history=histories())
def test_a_view_that_was_saved_goes_on_like_one_that_was_not(history: list[Event]) -> None:
    whole = fold(history, RunView())
    for cut in range(len(history) + 1):
        saved = msgspec.json.encode(fold(history[:cut], RunView()))
        assert fold(history[cut:], msgspec.json.decode(saved, type=RunView)) == whole


@given(history=histories(max_size=6))
def test_what_is_folded_from_memory_is_what_is_folded_from_the_log(history: list[Event]) -> None:
    read = [decode_event(line_of(event)) for event in history]
    for projection in all_projections():
        assert fold(read, projection()) == fold(history, projection())


@settings(max_examples=examples(50))
@given(history=histories())
def test_folding_leaves_the_events_as_they_are(history: list[Event]) -> None:
    before = msgspec.json.encode(history)
    for projection in all_projections():
        fold(history, projection())
    assert msgspec.json.encode(history) == before


@settings(max_examples=examples(50))
@given(history=histories(), timestamps=st.lists(st.sampled_from(["", "x", "2026-01-01", "2026-01-01T00:00:00"])))
def test_metrics_can_be_summed_up_whatever_the_events_say(history: list[Event], timestamps: list[str]) -> None:
    for index, timestamp in enumerate(timestamps[: len(history)]):
        history[index] = msgspec.structs.replace(history[index], timestamp=timestamp)
    assert msgspec.json.encode(fold(history, Metrics()).summary())


@settings(max_examples=examples(50))
@given(history=histories())
def test_a_state_counts_every_event(history: list[Event]) -> None:
    assert fold(history, RunState()).last_seq == len(history) - 1
