"""Reading: tolerant of what is unknown, strict about what is broken, and old logs always load."""

import tracemalloc
from pathlib import Path

import pytest

from skills_runtime.errors import LogCorrupt, LogTooNew, NotFound
from skills_runtime.events.payloads import HumanRequest, HumanResponse, RunStarted, SkillInjected, ToolCallRequested
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log import authenticate, read_events, read_verified
from tests.support.runs import copy_of, filled_run, keys_in, lines_of, new_run, sample_events

SEED = [
    '{"type":"run_started","timestamp":"2025-01-01T00:00:00.000000Z","run_id":"old","payload":{"task":"x"}}',
    '{"type":"tool_call_requested","timestamp":"t","run_id":"old","turn_id":"turn_1","step_id":"step_1",'
    '"payload":{"call_id":"c","tool":"read","arguments":{}}}',
    '{"type":"human_request","timestamp":"t","run_id":"old","payload":{"call_id":"h","tool":"request_user_input",'
    '"questions":[{"question":"a?"},{"question":"b?"}]}}',
    '{"type":"skill_injected","timestamp":"t","run_id":"old","payload":{"skill_name":"s"}}',
]


@pytest.fixture
def old(tmp_path: Path) -> RunPaths:
    """A log of skills-runtime-sdk 0.1: six keys a line."""
    (tmp_path / "events.jsonl").write_text("".join(line + "\n" for line in SEED))
    return RunPaths(tmp_path)


def test_a_log_of_version_0_is_read_and_numbered(old: RunPaths) -> None:
    events = list(read_events(old))
    assert [(event.seq, event.type) for event in events] == [
        (0, "run_started"), (1, "tool_call_requested"), (2, "human_request"), (3, "skill_injected"),
    ]  # fmt: skip
    assert events[0].payload == RunStarted(task="x")
    assert events[1].payload == ToolCallRequested(call_id="c", tool="read", name="read")
    assert (events[1].turn_id, events[1].step_id) == ("turn_1", "step_1")
    assert events[2].payload == HumanRequest(
        call_id="h",
        question="a?\nb?",
        tool="request_user_input",
        questions=[{"question": "a?"}, {"question": "b?"}],
    )
    assert events[3].payload == SkillInjected(skill_name="s")


def test_a_log_of_version_0_is_read_from_any_event(old: RunPaths) -> None:
    assert [event.seq for event in read_events(old, from_seq=2)] == [2, 3]


def test_nothing_in_a_log_of_version_0_is_called_verified(old: RunPaths, tmp_path: Path) -> None:
    assert list(read_verified(old, keys_in(tmp_path))) == []
    report = authenticate(old, keys_in(tmp_path))
    assert (report.header.version, report.position.seq, report.tail_fault) == (0, 0, "shape")


@pytest.mark.parametrize("questions", ["5", "null", "{}", '["a"]', '[{"question":5}]', "[[]]"])
def test_a_strange_question_of_version_0_does_no_harm(questions: str, tmp_path: Path) -> None:
    line = (
        f'{{"type":"human_request","timestamp":"","run_id":"","payload":{{"call_id":"c","questions":{questions}}}}}\n'
    )
    (tmp_path / "events.jsonl").write_text(SEED[0] + "\n" + line)
    assert len(list(read_events(RunPaths(tmp_path)))) == 2


@pytest.mark.parametrize("from_seq", [0, 1, 14, 15, 99])
def test_events_are_read_from_any_number_on(from_seq: int, tmp_path: Path) -> None:
    paths = filled_run(tmp_path)
    assert [event.seq for event in read_events(paths, from_seq=from_seq)] == list(range(from_seq, 15))


def test_a_torn_end_is_left_out(tmp_path: Path) -> None:
    paths = filled_run(tmp_path)
    whole = paths.events.read_bytes()
    paths.events.write_bytes(whole[:-1])
    assert [event.payload for event in read_events(paths)][2:] == sample_events()[:-1]
    assert [event.payload for event in read_verified(paths, keys_in(tmp_path))][2:] == sample_events()[:-1]


def test_verified_reading_stops_before_a_forged_end(tmp_path: Path) -> None:
    paths = filled_run(tmp_path)
    forged = lines_of(paths)[-1].replace(b'"seq":14', b'"seq":15')
    with paths.events.open("ab") as file:
        file.write(forged)
    assert [event.seq for event in read_events(paths)] == list(range(16))
    assert [event.seq for event in read_verified(paths, keys_in(tmp_path))] == list(range(15))


def test_verified_reading_refuses_a_damaged_middle(tmp_path: Path) -> None:
    paths = filled_run(tmp_path)
    paths.events.write_bytes(paths.events.read_bytes().replace(b"Which?", b"Witch?"))
    with pytest.raises(LogCorrupt, match="line 13 of the log was changed") as caught:
        list(read_verified(paths, keys_in(tmp_path)))
    assert caught.value.details == {"seq": 12, "offset": sum(map(len, lines_of(paths)[:12])), "fault": "seal"}


@pytest.mark.parametrize("payload", [b"[]", b"5", b'"x"', b"null"])
def test_a_payload_that_is_no_object_is_refused_in_words(payload: bytes, tmp_path: Path) -> None:
    line = b'{"seq":15,"type":"human_response","timestamp":"t","run_id":"r","payload":' + payload + b"}\n"
    paths = filled_run(tmp_path)
    with paths.events.open("ab") as file:
        file.write(line)
    with pytest.raises(LogCorrupt, match="line 16 of the log is not a complete event line"):
        list(read_events(paths))


def test_a_newer_log_is_refused_by_every_reader(tmp_path: Path) -> None:
    paths = filled_run(tmp_path)
    paths.events.write_bytes(paths.events.read_bytes().replace(b"log/v1", b"log/v7", 1))
    for read in (
        lambda: list(read_events(paths)),
        lambda: list(read_verified(paths, keys_in(tmp_path))),
        lambda: authenticate(paths, keys_in(tmp_path)),
    ):
        with pytest.raises(LogTooNew, match=r"skills-runtime\.log/v7"):
            read()


def test_a_directory_without_a_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        list(read_events(RunPaths(tmp_path)))


def test_authenticity_says_how_far_a_log_can_be_believed(tmp_path: Path) -> None:
    paths = copy_of(filled_run(tmp_path, end=True), tmp_path / "copy")
    report = authenticate(paths, keys_in(tmp_path))
    assert (report.position.seq, report.position.ended, report.unchecked) == (16, True, 0)
    assert (report.tail_bytes, report.tail_fault) == (0, None)
    assert report.header.key_id == keys_in(tmp_path).current().id


def test_a_large_log_is_read_in_bounded_memory(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    for _ in range(160):
        run.append(HumanResponse(call_id="x", answer="x" * 200_000))
    run.close()
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_events(run.paths)) == 162
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
