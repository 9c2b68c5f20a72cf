"""run.json is always whole, and says what the log says."""

import stat
from pathlib import Path
from typing import IO

import msgspec
import pytest

from skills_runtime.errors import AccessRefused, LogCorrupt, NotFound
from skills_runtime.events.payloads import HumanResponse
from skills_runtime.events.states import RunStatus
from skills_runtime.projections import RunState
from skills_runtime.runs.record import RunRecord, build_record, read_record, write_record
from skills_runtime.runs.run import open_run
from tests.support.children import zygote
from tests.support.runs import new_run, ports_in
from tests.support.users import Unprivileged

REWRITES = 1000


def record(number: int) -> RunRecord:
    """A record whose length changes from one to the next."""
    state = RunState(run_id="run_test", last_seq=number, failure_reason="x" * (number * 97 % 9000))
    return build_record(state)


def poll(say: IO[bytes], hear: IO[bytes], path: Path) -> None:
    """Read the record until the last one is there; say how many different ones were seen."""
    seen: set[int] = set()
    say.write(b"ready\n")
    while max(seen, default=0) < REWRITES:
        record = read_record(path)
        assert len(record.failure_reason or "") == record.last_seq * 97 % 9000
        seen.add(record.last_seq)
    say.write(b"%d\n" % len(seen))


@pytest.mark.parametrize("spare", [True, False])
def test_a_reader_never_sees_a_part_of_a_record_that_is_rewritten_a_thousand_times(
    tmp_path: Path, *, spare: bool
) -> None:
    path = tmp_path / "run.json"
    if spare:
        (tmp_path / "logs").mkdir()
    write_record(tmp_path, record(0))
    with zygote(__name__) as nursery, nursery.child(poll, path) as reader:
        assert reader.line() == b"ready"
        for number in range(1, REWRITES + 1):
            write_record(tmp_path, record(number))
        answer = reader.line()
        assert answer.isdigit(), answer + reader.hear.read()
        assert int(answer) > 1
    assert {entry.name for entry in tmp_path.iterdir()} == {"run.json", "logs"} if spare else {"run.json"}


def test_a_record_is_rewritten_without_making_or_removing_a_file(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    write_record(tmp_path, record(0))
    write_record(tmp_path, record(1))
    before = _inodes(tmp_path)
    for number in range(2, 20):
        write_record(tmp_path, record(number))
        assert read_record(tmp_path / "run.json") == record(number)
    assert _inodes(tmp_path) == before


def test_a_record_does_not_change_under_its_readers(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    write_record(tmp_path, record(1))
    with (tmp_path / "run.json").open("rb") as slow:
        for number in range(2, 6):
            write_record(tmp_path, record(number))
        assert msgspec.json.decode(slow.read(), type=RunRecord) == record(1)


def _inodes(directory: Path) -> set[int]:
    return {path.stat().st_ino for path in directory.rglob("*")}


def test_a_record_comes_back_as_it_was_and_is_private(tmp_path: Path) -> None:
    write_record(tmp_path, record(7))
    assert read_record(tmp_path / "run.json") == record(7)
    assert stat.S_IMODE((tmp_path / "run.json").stat().st_mode) == 0o600


def test_a_record_with_fields_of_a_newer_version_can_be_read(tmp_path: Path) -> None:
    newer = msgspec.to_builtins(record(7)) | {"something_new": [1]}
    (tmp_path / "run.json").write_bytes(msgspec.json.encode(newer))
    assert read_record(tmp_path / "run.json") == record(7)


@pytest.mark.parametrize("junk", [b"", b"{}", b"[", b"\xff", b'{"run_id":"\xff"}', b"[" * 100_000])
def test_junk_is_refused_in_words(junk: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(junk)
    with pytest.raises(LogCorrupt, match=r"run\.json` is not a run record"):
        read_record(tmp_path / "run.json")


def test_a_directory_without_a_record_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="is not a run directory"):
        read_record(tmp_path / "run.json")


def test_a_record_of_another_user_is_refused_in_words(unprivileged: Unprivileged) -> None:
    path = unprivileged.path / "run.json"
    write_record(unprivileged.path, record(1))
    path.chmod(0o000)
    with pytest.raises(AccessRefused, match=r"run\.json` cannot be read"):
        unprivileged(lambda: read_record(path))


@pytest.mark.parametrize("left", [b"", b"{", b'{"status":"completed"}', None])
def test_opening_a_run_brings_its_record_in_step_with_the_log(left: bytes | None, tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.change(RunStatus.RUNNING)
    run.append(HumanResponse(call_id="x"))
    run.close()
    run.paths.run_json.unlink()
    if left is not None:
        run.paths.run_json.write_bytes(left)
    open_run(run.paths.root, ports_in(tmp_path)).close()
    record = read_record(run.paths.run_json)
    assert (record.status, record.last_seq) == ("running", 3)


def test_a_change_of_state_is_in_the_record_when_it_returns(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.change(RunStatus.RUNNING)
    assert read_record(run.paths.run_json).status == "running"
    run.change(RunStatus.WAITING_FOR_USER)
    assert read_record(run.paths.run_json).status == "waiting_for_user"
    run.close()
