"""Several events by one write: the same lines, all of them or none."""

import errno
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import LogEnded, StorageFailed
from skills_runtime.events import Event, Payload
from skills_runtime.events.payloads import HumanResponse, RunCompleted
from skills_runtime.runs import create_run
from skills_runtime.runs.log import LogPorts, authenticate, read_events
from skills_runtime.runs.log.writer import TEXTLESS_PAYLOADS, UNREDACTED_FIELDS, UNREDACTED_SUFFIXES
from skills_runtime.runs.run import open_run
from skills_runtime.safety.redaction import SecretRegistry
from skills_runtime.testing import FaultyDisk
from tests.support.runs import keys_in, new_run, ports_in, sample_events, spec_in

SECRET = "sk-proj-4f9aK2mQ8xV7bN1cZ6tR"


def entries(*payloads: Payload) -> list[tuple[Payload, str | None, str | None]]:
    return [(payload, "turn_1", f"step_{number}") for number, payload in enumerate(payloads)]


def test_they_are_in_the_log_as_if_each_had_been_written_by_itself(tmp_path: Path) -> None:
    disk = FaultyDisk()
    run = new_run(tmp_path, disk=disk)
    events: list[Event] = []
    run.log.listen(events.append)
    before = disk.counts["write"]
    returned = run.append_all(entries(*sample_events()))
    after = run.append(HumanResponse(call_id="after"))
    run.close()
    assert disk.counts["write"] == before + 2
    assert list(read_events(run.paths))[2:] == [*returned, after] == events
    assert [event.step_id for event in returned] == [f"step_{number}" for number in range(len(returned))]
    report = authenticate(run.paths, keys_in(tmp_path))
    assert (report.position.seq, report.tail_fault) == (after.seq + 1, None)


@pytest.mark.parametrize("size", [0, 1, 250, 400])
def test_a_disk_that_takes_only_a_part_keeps_none_of_them(size: int, tmp_path: Path) -> None:
    disk = FaultyDisk()
    run = new_run(tmp_path, disk=disk)
    before = run.paths.events.read_bytes()
    disk.shorten_write(size)
    with pytest.raises(StorageFailed):
        run.append_all(entries(HumanResponse(call_id="a"), HumanResponse(call_id="b")))
    run.close()
    assert run.paths.events.read_bytes() == before
    open_run(run.paths.root, ports_in(tmp_path)).close()


def test_a_disk_that_refuses_them_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    disk = FaultyDisk()
    run = new_run(tmp_path, disk=disk)
    before, seq = run.paths.events.read_bytes(), run.log.next_seq
    disk.fail("write", errno.ENOSPC)
    with pytest.raises(StorageFailed):
        run.append_all(entries(HumanResponse(call_id="a"), HumanResponse(call_id="b")))
    assert (run.paths.events.read_bytes(), run.log.next_seq) == (before, seq)
    run.close()


def test_nothing_follows_a_terminal_event_among_them(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    before = run.paths.events.read_bytes()
    with pytest.raises(LogEnded, match="`human_response` cannot follow"):
        run.append_all(entries(RunCompleted(final_output=""), HumanResponse(call_id="a")))
    assert run.paths.events.read_bytes() == before
    run.append_all(entries(HumanResponse(call_id="a"), RunCompleted(final_output="")))
    assert run.log.ended
    with pytest.raises(LogEnded):
        run.append_all(entries(HumanResponse(call_id="b")))
    run.close()


def test_one_that_cannot_be_encoded_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    before = run.paths.events.read_bytes()
    with pytest.raises(UnicodeEncodeError):
        run.append_all(entries(HumanResponse(call_id="a"), HumanResponse(call_id="\ud800")))
    run.append(HumanResponse(call_id="after"))
    run.close()
    assert run.paths.events.read_bytes().startswith(before)
    assert authenticate(run.paths, keys_in(tmp_path)).tail_fault is None


def test_secrets_are_taken_out_of_each_of_them(tmp_path: Path) -> None:
    run = create_run(spec_in(tmp_path), LogPorts(keys_in(tmp_path), secrets=SecretRegistry([SECRET])))
    run.append_all(entries(HumanResponse(call_id="a", answer=SECRET), HumanResponse(call_id="b", answer=f"x {SECRET}")))
    run.close()
    assert SECRET not in run.paths.events.read_text()


@pytest.mark.parametrize("kind", sorted(TEXTLESS_PAYLOADS, key=str))
def test_payloads_in_which_no_secret_is_looked_for_have_only_fields_that_programs_read(kind: type[Payload]) -> None:
    ours = {"purpose", "wire_api", "calls"}  # constants of the runtime, and ids that other events show as they are
    for field in msgspec.structs.fields(kind):
        programs = field.name in UNREDACTED_FIELDS or field.name.endswith(UNREDACTED_SUFFIXES) or field.name in ours
        assert programs or field.type in (int, bool), field.name
