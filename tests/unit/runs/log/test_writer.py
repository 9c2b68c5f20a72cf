"""The writer: what it acknowledges is in the file, and it stops at the first sign of trouble."""

import errno
import os
from pathlib import Path

import pytest

from skills_runtime.errors import LogEnded, StorageFailed
from skills_runtime.events import Event
from skills_runtime.events.payloads import HumanResponse, RunCancelled, RunCompleted, RunFailed
from skills_runtime.runs.log import read_events
from skills_runtime.runs.log.recovery import open_log
from skills_runtime.runs.run import open_run
from skills_runtime.testing import FaultyDisk
from tests.support.runs import decoded, lines_of, new_run, ports_in, sample_events


def test_what_append_returns_is_what_the_log_says(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    returned = [run.append(payload, turn_id="turn_1", step_id="step_2") for payload in sample_events()]
    run.close()
    assert list(read_events(run.paths))[2:] == returned


def test_listeners_hear_each_event_after_it_is_written(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    events: list[Event] = []
    sizes: list[int] = []
    run.log.listen(events.append)
    run.log.listen(lambda event: sizes.append(run.paths.events.stat().st_size))
    sent = [run.append(HumanResponse(call_id=str(number))) for number in range(3)]
    run.close()
    assert events == sent
    assert sizes == [sum(map(len, lines_of(run.paths)[: number + 3])) for number in range(3)]


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "ü", "\x00"])
def test_ids_of_any_spelling_do_not_break_the_line(name: str, tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.append(HumanResponse(call_id="x"), turn_id=name, step_id=name)
    run.append(HumanResponse(call_id="y"))
    run.close()
    event = list(read_events(run.paths))[2]
    assert (event.turn_id, event.step_id) == (name, name)
    open_run(run.paths.root, ports_in(tmp_path)).close()


@pytest.mark.parametrize(
    "end",
    [RunCompleted(final_output=""), RunFailed(error_kind="unknown", message="x"), RunCancelled(message="x")],
    ids=lambda end: end.event_type,
)
def test_nothing_follows_a_terminal_event(end: RunCompleted | RunFailed | RunCancelled, tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.append(end)
    assert run.log.ended
    before = run.paths.events.read_bytes()
    with pytest.raises(LogEnded, match="`human_response` cannot follow"):
        run.append(HumanResponse(call_id="x"))
    run.commit()
    run.close()
    assert run.paths.events.read_bytes() == before


def test_a_terminal_event_is_the_end_also_for_the_next_writer(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.append(RunCompleted(final_output=""))
    run.close()
    with pytest.raises(LogEnded):
        open_log(run.paths, ports_in(tmp_path))


def test_a_closed_log_takes_nothing_more(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.close()
    before = run.paths.events.read_bytes()
    with pytest.raises(StorageFailed):
        run.append(HumanResponse(call_id="x"))
    with pytest.raises(StorageFailed):
        run.commit()
    run.close()
    assert run.paths.events.read_bytes() == before


def test_an_event_that_cannot_be_written_as_json_leaves_the_log_usable(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with pytest.raises((ValueError, TypeError)):
        run.append(HumanResponse(call_id="\ud800"))
    run.append(HumanResponse(call_id="fine"))
    run.close()
    assert [decoded(line)["seq"] for line in lines_of(run.paths)] == [0, 1, 2]


def test_reopening_after_a_kill_makes_durable_what_was_only_written(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.append(HumanResponse(call_id="not committed"))
    run.close()
    disk = FaultyDisk()
    open_run(run.paths.root, ports_in(tmp_path, disk=disk)).close()
    assert disk.counts["sync"] == 1


def test_the_first_commit_of_a_writer_syncs_also_what_another_left(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.close()
    disk = FaultyDisk()
    log, lock = open_log(run.paths, ports_in(tmp_path, disk=disk))
    log.commit()
    log.commit()
    log.close()
    lock.release()
    assert disk.counts["sync"] == 1


def test_a_log_that_cannot_be_made_durable_is_not_opened(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.close()
    disk = FaultyDisk()
    disk.fail("sync", errno.EIO)
    with pytest.raises(StorageFailed, match="Input/output error"):
        open_run(run.paths.root, ports_in(tmp_path, disk=disk))
    open_run(run.paths.root, ports_in(tmp_path)).close()


def test_a_log_that_was_cut_under_the_writer_stops_it_and_is_not_filled_with_zeros(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    for payload in sample_events():
        run.append(payload)
    sound = b"".join(lines_of(run.paths)[:5])
    os.truncate(run.paths.events, len(sound))
    with pytest.raises(StorageFailed, match="another process changed the length"):
        run.append(HumanResponse(call_id="x"))
    run.close()
    assert run.paths.events.read_bytes() == sound
