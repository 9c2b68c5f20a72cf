"""The transcript on disk: what the log gives, to the last byte."""

from pathlib import Path

import pytest

from skills_runtime.errors import LogEnded
from skills_runtime.events.payloads import InboxReceived
from skills_runtime.runs import RunPaths, finish_run, open_run, read_events, verify_run
from skills_runtime.runs.record import is_transcript_current
from tests.support.runs import COMPLETED, finished_run, keys_in, ports_in, working_run

STEER = InboxReceived(message_id="m", position=1, kind="steer", body={"text": "be brief"})


def _steered_run(directory: Path) -> RunPaths:
    """An ended run to which somebody said something."""
    run = working_run(directory)
    run.append(STEER)
    finish_run(run, COMPLETED)
    run.close()
    return run.paths


def test_the_transcript_of_an_ended_run_tells_its_whole_story(tmp_path: Path) -> None:
    paths = _steered_run(tmp_path)
    assert b"## user (message)\n\n```text\nbe brief\n" in paths.transcript.read_bytes()
    assert is_transcript_current(paths, read_events(paths))
    assert verify_run(paths.root, keys_in(tmp_path)).findings == []


def test_a_transcript_that_was_changed_does_not_pass(tmp_path: Path) -> None:
    paths = _steered_run(tmp_path)
    paths.transcript.write_bytes(paths.transcript.read_bytes().replace(b"Here you are.", b"Here I am.  "))
    assert not is_transcript_current(paths, read_events(paths))
    assert not verify_run(paths.root, keys_in(tmp_path)).ok


def test_a_transcript_that_was_cut_short_is_written_anew(tmp_path: Path) -> None:
    paths = _steered_run(tmp_path)
    whole = paths.transcript.read_bytes()
    paths.transcript.write_bytes(whole[:-20])
    with pytest.raises(LogEnded):
        open_run(paths.root, ports_in(tmp_path))
    assert paths.transcript.read_bytes() == whole


@pytest.mark.parametrize("schema", [b"v1", b"v3", b"v22", b""])
def test_a_transcript_that_only_names_another_version_does_not_agree(tmp_path: Path, schema: bytes) -> None:
    paths = _steered_run(tmp_path)
    whole = paths.transcript.read_bytes()
    paths.transcript.write_bytes(whole.replace(b"kgent.transcript/v2", b"kgent.transcript/" + schema))
    assert paths.transcript.read_bytes() != whole
    assert not is_transcript_current(paths, read_events(paths))


@pytest.mark.parametrize(("size", "added"), [(-1, b""), (None, b"\n"), (0, b"")])
def test_a_byte_more_or_less_is_noticed(tmp_path: Path, size: int | None, added: bytes) -> None:
    paths = finished_run(tmp_path)
    paths.transcript.write_bytes(paths.transcript.read_bytes()[:size] + added)
    assert not is_transcript_current(paths, read_events(paths))


def test_a_transcript_that_is_gone_does_not_agree(tmp_path: Path) -> None:
    paths = finished_run(tmp_path)
    paths.transcript.unlink()
    assert not is_transcript_current(paths, read_events(paths))
