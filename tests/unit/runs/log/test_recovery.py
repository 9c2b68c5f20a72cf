"""Opening a log: one writer, a new epoch, a repaired end, and a refusal in words for everything else."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import (
    AccessRefused,
    LogCorrupt,
    LogEnded,
    LogLocked,
    LogTooNew,
    NotFound,
    SkillsRuntimeError,
    StorageFailed,
)
from skills_runtime.events.payloads import HumanResponse, LogRepaired
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log import KeyRing, LogPorts, authenticate, open_log, read_events
from skills_runtime.runs.run import open_run
from tests.support.runs import count_descriptors, decoded, filled_run, keys_in, lines_of, new_run, ports_in
from tests.support.users import Unprivileged


def test_every_opening_begins_a_new_epoch(tmp_path: Path) -> None:
    paths = filled_run(tmp_path)
    for number in range(3):
        run = open_run(paths.root, ports_in(tmp_path))
        run.append(HumanResponse(call_id=str(number)))
        run.close()
    assert [decoded(line)["epoch"] for line in lines_of(paths)][14:] == [1, 2, 3, 4]


def test_nothing_is_written_by_opening_a_sound_log(tmp_path: Path) -> None:
    paths = filled_run(tmp_path)
    before = paths.events.read_bytes()
    open_run(paths.root, ports_in(tmp_path)).close()
    assert paths.events.read_bytes() == before


def test_an_ended_run_is_not_opened(tmp_path: Path) -> None:
    paths = filled_run(tmp_path, end=True)
    with pytest.raises(LogEnded, match="`run_test` has ended"):
        open_run(paths.root, ports_in(tmp_path))


def test_a_finished_run_keeps_appended_bytes_but_ignores_them(tmp_path: Path) -> None:
    paths = filled_run(tmp_path, end=True)
    with paths.events.open("ab") as file:
        file.write(lines_of(paths)[4])
    with pytest.raises(LogEnded):
        open_run(paths.root, ports_in(tmp_path))
    report = authenticate(paths, keys_in(tmp_path))
    assert (report.position.seq, report.position.ended, report.tail_fault) == (16, True, "seal")


def test_a_torn_end_is_kept_aside_and_the_repair_is_recorded(tmp_path: Path) -> None:
    paths = filled_run(tmp_path)
    sound = paths.events.stat().st_size
    with paths.events.open("ab") as file:
        file.write(b'{"seq":15,"ty')
    open_run(paths.root, ports_in(tmp_path)).close()
    event = list(read_events(paths))[-1]
    assert isinstance(event.payload, LogRepaired)
    removed = paths.root / event.payload.removed.name
    assert removed.read_bytes() == b'{"seq":15,"ty'
    assert (event.payload.reason, event.payload.offset) == ("torn", sound)
    assert event.payload.removed.size == 13
    assert event.payload.removed.sha256 == hashlib.sha256(b'{"seq":15,"ty').hexdigest()
    assert removed.stat().st_mode & 0o777 == 0o600


def test_a_log_with_a_repair_in_it_opens_as_any_other(tmp_path: Path) -> None:
    paths = filled_run(tmp_path)
    with paths.events.open("ab") as file:
        file.write(b"x\n")
    open_run(paths.root, ports_in(tmp_path)).close()
    run = open_run(paths.root, ports_in(tmp_path))
    assert run.log.next_seq == 16
    run.close()


def empty(paths: RunPaths) -> None:
    paths.events.write_bytes(b"")


def without_log(paths: RunPaths) -> None:
    paths.events.unlink()


def newer(paths: RunPaths) -> None:
    paths.events.write_bytes(paths.events.read_bytes().replace(b"log/v1", b"log/v2", 1))


def other_family(paths: RunPaths) -> None:
    paths.events.write_bytes(paths.events.read_bytes().replace(b"skills-runtime.log/v1", b"somebody.elses/v1", 1))


def absurd_version(paths: RunPaths) -> None:
    paths.events.write_bytes(paths.events.read_bytes().replace(b"log/v1", b"log/v" + b"9" * 5000, 1))


def of_the_seed(paths: RunPaths) -> None:
    paths.events.write_bytes(b'{"type":"run_started","timestamp":"t","run_id":"r","payload":{"task":"x"}}\n')


def a_link(paths: RunPaths) -> None:
    paths.events.rename(paths.root / "elsewhere")
    paths.events.symlink_to("elsewhere")


def a_lock_that_is_a_link(paths: RunPaths) -> None:
    paths.lock.unlink()
    paths.lock.symlink_to("run.json")


def first_line_torn(paths: RunPaths) -> None:
    paths.events.write_bytes(lines_of(paths)[0][:-1])


def first_line_is_deep(paths: RunPaths) -> None:
    paths.events.write_bytes(b'{"type":"run_created","payload":' + b"[" * 100_000 + b"\n")


def first_line_is_not_text(paths: RunPaths) -> None:
    paths.events.write_bytes(lines_of(paths)[0].replace(b"run_created", b"\xff\xfe"))


def first_line_is_no_birth(paths: RunPaths) -> None:
    paths.events.write_bytes(paths.events.read_bytes().replace(b"run_created", b"run_creates", 1))


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (empty, LogCorrupt),
        (without_log, NotFound),
        (newer, LogTooNew),
        (other_family, LogTooNew),
        (absurd_version, LogTooNew),
        (of_the_seed, LogCorrupt),
        (a_link, StorageFailed),
        (a_lock_that_is_a_link, StorageFailed),
        (first_line_torn, LogCorrupt),
        (first_line_is_deep, LogCorrupt),
        (first_line_is_not_text, LogCorrupt),
        (first_line_is_no_birth, LogCorrupt),
    ],
)
def test_what_is_no_log_of_ours_is_refused_and_left_as_it_is(
    spoil: Callable[[RunPaths], None], error: type[SkillsRuntimeError], tmp_path: Path
) -> None:
    paths = filled_run(tmp_path)
    spoil(paths)
    before = {path: path.read_bytes() for path in paths.root.rglob("*") if path.is_file() and path != paths.lock}
    descriptors = count_descriptors()
    with pytest.raises(error) as caught:
        open_run(paths.root, ports_in(tmp_path))
    assert caught.value.hint
    assert count_descriptors() == descriptors
    assert {path: path.read_bytes() for path in before} == before
    if not paths.lock.is_symlink():
        with pytest.raises(error):  # and not that the lock is still held
            open_run(paths.root, ports_in(tmp_path))


def test_a_second_writer_is_refused_while_the_first_is_there(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with pytest.raises(LogLocked, match=f"pid {os.getpid()}"):
        open_log(run.paths, ports_in(tmp_path))
    run.close()
    open_run(run.paths.root, ports_in(tmp_path)).close()


def test_another_users_run_is_refused_in_words(unprivileged: Unprivileged, tmp_path: Path) -> None:
    paths = filled_run(unprivileged.path)
    for path in (unprivileged.path, unprivileged.path / "runs", paths.root):
        path.chmod(0o755)
    if os.geteuid():
        paths.lock.chmod(0o400)
    with pytest.raises(AccessRefused, match="may not be written by this user"):
        unprivileged(lambda: open_run(paths.root, ports_in(tmp_path)).close())


def test_a_run_that_cannot_be_created_leaves_no_descriptor_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "keys").write_text("in the way")
    descriptors = count_descriptors()
    with pytest.raises(AccessRefused):
        new_run(tmp_path)
    assert count_descriptors() == descriptors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state"]


def test_the_key_of_the_log_goes_on_signing_it_although_there_is_a_newer_one(tmp_path: Path) -> None:
    paths = filled_run(tmp_path)
    keys = keys_in(tmp_path).directory
    (keys / "log.key").rename(keys / "old.key")
    new = KeyRing(keys).current()
    run = open_run(paths.root, LogPorts(KeyRing(keys)))
    run.append(HumanResponse(call_id="x"))
    run.close()
    assert new.id not in paths.events.read_text()
    report = authenticate(paths, KeyRing(keys))
    assert (report.position.seq, report.unchecked, report.tail_fault) == (16, 0, None)


def test_a_later_line_may_carry_fields_that_are_not_known_yet(tmp_path: Path) -> None:
    paths = filled_run(tmp_path)
    line = msgspec.json.decode(lines_of(paths)[0])
    assert set(line) == {"seq", "type", "timestamp", "run_id", "payload", "epoch", "mac"}
    assert list(line)[-1] == "mac"
