"""The transcript on disk: held against the rules it follows, and written by the latest ones."""

from pathlib import Path

import pytest

from skills_runtime.errors import LogEnded
from skills_runtime.events.payloads import InboxReceived
from skills_runtime.projections import render
from skills_runtime.projections.transcript_versions import LATEST, version_of
from skills_runtime.runs import RunPaths, finish_run, open_run, read_events, verify_run
from skills_runtime.runs.derived import transcript_agrees
from tests.support.runs import COMPLETED, finished_run, keys_in, ports_in, working_run

STEER = InboxReceived(message_id="m", position=1, kind="steer", body={"text": "be brief"})


def _told(paths: RunPaths, version: int) -> bytes:
    return "".join(render(read_events(paths), version)).encode()


def _steered_run(place: Path) -> RunPaths:
    """An ended run to which somebody said something."""
    run = working_run(place)
    run.append(STEER)
    finish_run(run, COMPLETED)
    run.close()
    return run.paths


def test_a_new_run_follows_the_latest_rules_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    assert version_of(run.paths.transcript.read_bytes()) == LATEST
    run.append(STEER)
    finish_run(run, COMPLETED)
    run.close()
    assert version_of(run.paths.transcript.read_bytes()) == LATEST
    assert b"## user (message)\n\n```text\nbe brief\n" in run.paths.transcript.read_bytes()


def test_an_old_transcript_agrees_by_the_rules_it_follows(tmp_path: Path) -> None:
    paths = _steered_run(tmp_path)
    paths.transcript.write_bytes(_told(paths, 1))
    assert b"be brief" not in paths.transcript.read_bytes()
    assert transcript_agrees(paths, read_events(paths))


def test_an_old_transcript_passes_verification(tmp_path: Path) -> None:
    paths = _steered_run(tmp_path)
    paths.transcript.write_bytes(_told(paths, 1))
    assert verify_run(paths.root, keys_in(tmp_path)).findings == []


def test_an_old_transcript_that_was_changed_does_not_pass(tmp_path: Path) -> None:
    paths = _steered_run(tmp_path)
    paths.transcript.write_bytes(_told(paths, 1).replace(b"Here you are.", b"Here I am.  "))
    assert not transcript_agrees(paths, read_events(paths))
    assert not verify_run(paths.root, keys_in(tmp_path)).ok


@pytest.mark.parametrize("schema", [b"v1", b"v3", b"v22", b""])
def test_a_transcript_that_only_names_another_version_does_not_agree(tmp_path: Path, schema: bytes) -> None:
    paths = _steered_run(tmp_path)
    whole = paths.transcript.read_bytes()
    paths.transcript.write_bytes(whole.replace(b"kgent.transcript/v2", b"kgent.transcript/" + schema))
    assert paths.transcript.read_bytes() != whole
    assert not transcript_agrees(paths, read_events(paths))


@pytest.mark.parametrize(("kept", "added"), [(-1, b""), (None, b"\n"), (0, b"")])
def test_a_byte_more_or_less_is_noticed(tmp_path: Path, kept: int | None, added: bytes) -> None:
    paths = finished_run(tmp_path)
    paths.transcript.write_bytes(paths.transcript.read_bytes()[:kept] + added)
    assert not transcript_agrees(paths, read_events(paths))


def test_a_transcript_that_is_gone_does_not_agree(tmp_path: Path) -> None:
    paths = finished_run(tmp_path)
    paths.transcript.unlink()
    assert not transcript_agrees(paths, read_events(paths))


def test_a_run_begun_by_old_rules_ends_with_a_transcript_by_the_latest(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    run.paths.transcript.write_bytes(_told(run.paths, 1))
    run.close()
    run = open_run(run.paths.root, ports_in(tmp_path))
    finish_run(run, COMPLETED)
    run.close()
    assert run.paths.transcript.read_bytes() == _told(run.paths, LATEST)
    assert verify_run(run.paths.root, keys_in(tmp_path)).findings == []


def test_the_old_transcript_of_an_ended_run_is_left_as_it_was_handed_on(tmp_path: Path) -> None:
    paths = _steered_run(tmp_path)
    old = _told(paths, 1)
    paths.transcript.write_bytes(old)
    with pytest.raises(LogEnded):
        open_run(paths.root, ports_in(tmp_path))
    assert paths.transcript.read_bytes() == old


def test_an_old_transcript_that_was_cut_short_is_written_by_the_latest_rules(tmp_path: Path) -> None:
    paths = _steered_run(tmp_path)
    paths.transcript.write_bytes(_told(paths, 1)[:-20])
    with pytest.raises(LogEnded):
        open_run(paths.root, ports_in(tmp_path))
    assert paths.transcript.read_bytes() == _told(paths, LATEST)
