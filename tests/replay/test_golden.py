"""Logs of every format there ever was: they load, and say today what they said when they were written."""

import shutil
from pathlib import Path

import pytest

from skills_runtime.errors import LogCorrupt, LogEnded
from skills_runtime.events import Event, Unknown
from skills_runtime.events.payloads import HumanRequest, HumanResponse
from skills_runtime.projections import Conversation, FileRecords, Metrics, Pending, RunState, RunView, fold
from skills_runtime.render import render_transcript
from skills_runtime.runs import Blobs, RunPaths, read_record, verify_run
from skills_runtime.runs.layout import SUBDIRECTORIES
from skills_runtime.runs.log import KeyRing, LogPorts, authenticate, follow_lines, read_events, read_verified
from skills_runtime.runs.record import build_record
from skills_runtime.runs.run import open_run
from tests.replay.make_golden import GOLDEN, make
from tests.support.runs import lines_of

OLD = GOLDEN.parent / "v0"


def old_log(name: str, directory: Path) -> RunPaths:
    """A log of skills-runtime-sdk 0.1, where a run directory would have it."""
    shutil.copy(OLD / f"{name}.jsonl", directory / "events.jsonl")
    return RunPaths(directory)


def test_a_completed_run_of_version_0_folds_to_what_happened(tmp_path: Path) -> None:
    state = fold(read_events(old_log("completed", tmp_path)), RunState())
    assert (state.run_id, state.status, state.last_seq) == ("r1", "completed", 20)
    assert (state.task, state.model) == ("Write a haiku about the sea to haiku.txt", "gpt-x")
    assert (state.started_at, state.completed_at) == ("2025-06-01T08:00:00.000001Z", "2025-06-01T08:00:21.000003Z")
    assert (state.turns, state.steps, state.tool_calls) == (3, 2, 2)
    assert (state.input_tokens, state.output_tokens, state.final_output) == (1762, 49, "Done: haiku.txt")


def test_the_metrics_of_a_run_of_version_0(tmp_path: Path) -> None:
    summary = fold(read_events(old_log("completed", tmp_path)), Metrics()).summary()
    assert summary["wall_time_ms"] == 21000
    assert summary["counts"] == {
        "turns_total": 3,
        "llm_requests_total": 3,
        "tool_calls_total": 2,
        "approvals_requested_total": 1,
        "approvals_decided_total": 1,
        "human_requests_total": 1,
    }
    assert summary["tools"]["by_name"]["ask_human"] == {"calls": 1, "ok": 1, "failed": 0, "duration_ms_total": 14000}


def test_a_waiting_run_of_version_0_says_what_it_waits_for(tmp_path: Path) -> None:
    events = list(read_events(old_log("waiting", tmp_path)))
    assert fold(events, RunState()).status == "waiting_for_user"
    question = fold(events, Pending()).questions["call_2"]
    assert (question.question, question.seq) == ("Which directory?\nReally?", 7)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        (
            "completed",
            [
                "Write a haiku",
                "approved (provider)",
                "(call call_1)",
                "(result of call_1)",
                "Shall it have a title?",
                "Done: haiku.txt",
                "completed",
            ],
        ),
        ("waiting", ["清理旧文件", "invalid arguments", "Which directory?\nReally?", "waiting for a person"]),
    ],
)
def test_the_transcript_of_a_run_of_version_0_tells_its_story(name: str, parts: list[str], tmp_path: Path) -> None:
    text = "".join(render_transcript(read_events(old_log(name, tmp_path))))
    offsets = [text.find(content) for content in parts]
    assert -1 not in offsets
    assert offsets == sorted(offsets)


def test_the_conversation_of_a_run_of_version_0_has_its_answers_and_calls(tmp_path: Path) -> None:
    conversation = fold(read_events(old_log("completed", tmp_path)), Conversation())
    assert [(message.role, [call.id for call in message.calls], message.text) for message in conversation.messages] == [
        ("user", [], "Write a haiku about the sea to haiku.txt"),
        ("assistant", ["call_1"], ""),
        ("tool", [], ""),
        ("assistant", ["call_2"], ""),
        ("tool", [], ""),
        ("assistant", [], "Done: haiku.txt"),
    ]


def test_a_run_of_version_0_is_not_continued(tmp_path: Path) -> None:
    paths = old_log("waiting", tmp_path)
    with pytest.raises(LogCorrupt, match="older product"):
        open_run(paths.root, LogPorts(KeyRing(tmp_path / "keys")))


@pytest.fixture
def keys(tmp_path: Path) -> KeyRing:
    """The golden key, with the mode that git does not keep."""
    shutil.copytree(GOLDEN / "keys", tmp_path / "keys")
    (tmp_path / "keys" / "log.key").chmod(0o600)
    return KeyRing(tmp_path / "keys")


@pytest.fixture
def complete(tmp_path: Path) -> RunPaths:
    return golden("complete", tmp_path)


@pytest.fixture
def future(tmp_path: Path) -> RunPaths:
    return golden("future", tmp_path)


def golden(name: str, parent: Path) -> RunPaths:
    """A golden run, with the empty directories that git does not keep."""
    shutil.copytree(GOLDEN / name, parent / name)
    for directory in SUBDIRECTORIES:
        (parent / name / directory).mkdir(exist_ok=True)
    return RunPaths(parent / name)


def test_a_run_of_version_1_is_authentic(complete: RunPaths, keys: KeyRing) -> None:
    report = authenticate(complete, keys)
    assert (report.position.seq, report.position.ended, report.unchecked, report.tail_fault) == (23, True, 0, None)
    assert report.header.version == 1


def test_a_run_of_version_1_passes_verification_as_a_whole(complete: RunPaths, keys: KeyRing) -> None:
    verdict = verify_run(complete.root, keys)
    assert (verdict.ok, verdict.authentic, verdict.events) == (True, True, 23)
    assert [finding for finding in verdict.findings if finding.severity == "error"] == []


def test_a_run_of_version_1_folds_to_what_happened(complete: RunPaths, keys: KeyRing) -> None:
    view = fold(read_verified(complete, keys), RunView())
    state = view.state
    assert (state.status, state.last_seq, state.epoch) == ("completed", 22, 1)
    assert state.final_output == "Done: `deliverables/haiku.txt`"
    assert (state.turns, state.steps, state.tool_calls, state.inbox_position) == (2, 1, 1, 1)
    assert (state.input_tokens, state.output_tokens, state.cached_tokens) == (50, 16, 3)
    assert [message.role for message in view.conversation.messages] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]
    assert view.conversation.last_text == "Done: `deliverables/haiku.txt`\n```\n大海\n```"
    assert view.pending == Pending()
    assert list(view.files.produced) == ["deliverables/haiku.txt"]


def test_the_exact_arguments_of_a_run_of_version_1_are_in_its_blobs(complete: RunPaths) -> None:
    conversation = fold(read_events(complete), Conversation())
    blob = conversation.messages[1].calls[0].arguments.blob
    assert blob is not None
    assert Blobs(complete.blobs).get(blob) == b'{"path":"deliverables/haiku.txt","content":"waves"}'


def test_the_record_of_a_run_of_version_1_agrees_with_its_log(complete: RunPaths) -> None:
    assert read_record(complete.run_json) == build_record(fold(read_events(complete), RunState()))


@pytest.mark.parametrize("name", ["complete", "agent"])
def test_the_transcript_of_a_run_of_version_1_is_written_again_byte_for_byte(name: str, tmp_path: Path) -> None:
    paths = golden(name, tmp_path)
    assert "".join(render_transcript(read_events(paths))).encode() == paths.transcript.read_bytes()


def test_a_completed_run_of_version_1_is_not_continued(complete: RunPaths, keys: KeyRing) -> None:
    with pytest.raises(LogEnded):
        open_run(complete.root, LogPorts(keys))


def test_an_unknown_type_and_an_unknown_field_are_kept_and_ignored(future: RunPaths, keys: KeyRing) -> None:
    events = list(read_verified(future, keys))
    assert [event.type for event in events][3:5] == ["moon_phase_observed", "human_request"]
    assert events[3].payload == Unknown(data={"phase": "gibbous", "details": {"illumination": 83}})
    assert events[4].payload == HumanRequest(call_id="call_1", question="Is it full?")
    assert fold(events, FileRecords()) == FileRecords()
    assert fold(events, RunState()).status == "running"


async def test_what_is_unknown_is_relayed_as_it_was_written(future: RunPaths) -> None:
    lines = follow_lines(future)
    relayed = [await anext(lines) + b"\n" for _ in range(6)]
    await lines.aclose()
    assert relayed == lines_of(future)
    assert b'"mood":"wistful"' in relayed[4]


def test_a_run_with_events_of_the_future_is_continued(future: RunPaths, keys: KeyRing) -> None:
    run = open_run(future.root, LogPorts(keys))
    event = run.append(HumanResponse(call_id="x"))
    run.close()
    assert (event.seq, event.epoch) == (6, 2)
    assert authenticate(future, keys).position.seq == 7


def test_the_golden_runs_are_what_today_s_code_would_write(tmp_path: Path) -> None:
    make(tmp_path / "v1")
    for name in ("complete", "future"):
        ours, theirs = (list(read_events(RunPaths(path / name))) for path in (tmp_path / "v1", GOLDEN))
        assert [_lasting(event) for event in ours] == [_lasting(event) for event in theirs]


def _lasting(event: Event) -> tuple[object, ...]:
    """An event without what differs between machines: the digests of paths and versions, and so every seal."""
    digests = event.payload if event.type not in ("sandbox_created", "artifact_manifest_written") else None
    return event.seq, event.type, event.timestamp, event.run_id, event.turn_id, event.step_id, digests
