"""A snapshot is believed only with our tag and a log that still has its place; the log always wins."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from skills_runtime.events import Event
from skills_runtime.events.payloads import HumanRequest, HumanResponse
from skills_runtime.projections import RunView, fold
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log import KeyRing, Position, checkpoints, read_events
from skills_runtime.runs.log.checkpoints import SnapshotHeader, load_snapshot, save_snapshot
from skills_runtime.runs.log.recovery import build_secret_finder
from skills_runtime.runs.run import SNAPSHOT, open_run, read_view
from tests.support.runs import copy_of, filled_run, keys_in, lines_of, new_run, ports_in, switching_often

MEBIBYTE = 1 << 20


def saved(paths: RunPaths, keys: KeyRing, state: bytes = b"the state", kind: str = "kind/1") -> None:
    """A snapshot of the log as it stands, under the current key."""
    run = open_run(paths.root, ports_in(keys.directory.parents[1]))
    save_snapshot(
        paths.logs / SNAPSHOT, run.log.run_id, kind, state, position=run.log.position, secret=run.log.key.secret
    )
    run.close()


def loaded(paths: RunPaths, keys: KeyRing, kind: str = "kind/1") -> tuple[SnapshotHeader, bytes] | None:
    fd = os.open(paths.events, os.O_RDONLY)
    try:
        return load_snapshot(paths.logs / SNAPSHOT, kind, log_fd=fd, find_secret=build_secret_finder(keys))
    finally:
        os.close(fd)


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    paths = filled_run(tmp_path)
    saved(paths, keys_in(tmp_path))
    return paths


def test_a_snapshot_comes_back_as_it_was(paths: RunPaths, tmp_path: Path) -> None:
    results = loaded(paths, keys_in(tmp_path))
    assert results is not None
    assert results[1] == b"the state"
    assert results[0].position.offset == paths.events.stat().st_size


def test_a_snapshot_of_another_kind_is_not_believed(paths: RunPaths, tmp_path: Path) -> None:
    assert loaded(paths, keys_in(tmp_path), "kind/2") is None


def test_a_snapshot_is_not_believed_without_the_key(paths: RunPaths, tmp_path: Path) -> None:
    assert loaded(paths, KeyRing(tmp_path / "other")) is None


def test_a_changed_byte_never_gives_another_snapshot(paths: RunPaths, tmp_path: Path) -> None:
    data = (paths.logs / SNAPSHOT).read_bytes()
    original = loaded(paths, keys_in(tmp_path))
    believed = 0
    for index in range(len(data)):
        changed = bytearray(data)
        changed[index] ^= 1
        (paths.logs / SNAPSHOT).write_bytes(changed)
        results = loaded(paths, keys_in(tmp_path))
        assert results in (None, original), index
        believed += results is not None
    assert believed <= len("version") + len("ended"), "only a spoilt name of a field with its default value goes unseen"


def test_a_snapshot_is_not_believed_when_it_was_cut(paths: RunPaths, tmp_path: Path) -> None:
    data = (paths.logs / SNAPSHOT).read_bytes()
    for size in range(len(data)):
        (paths.logs / SNAPSHOT).write_bytes(data[:size])
        assert loaded(paths, keys_in(tmp_path)) is None, size


@pytest.mark.parametrize("junk", [b"", b"\xff\n", b"[" * 5000, b'{"header":{},"tag":"\xc3\xbc"}\n'])
def test_junk_is_no_snapshot(junk: bytes, paths: RunPaths, tmp_path: Path) -> None:
    (paths.logs / SNAPSHOT).write_bytes(junk)
    assert loaded(paths, keys_in(tmp_path)) is None


def test_a_snapshot_is_not_believed_when_the_log_ends_before_it(paths: RunPaths, tmp_path: Path) -> None:
    paths.events.write_bytes(b"".join(lines_of(paths)[:-1]))
    assert loaded(paths, keys_in(tmp_path)) is None


def test_a_snapshot_is_not_believed_when_the_log_has_another_line_there(paths: RunPaths, tmp_path: Path) -> None:
    *lines, last = lines_of(paths)
    paths.events.write_bytes(b"".join(lines) + last.replace(last[-10:-5], b"00000"))
    assert loaded(paths, keys_in(tmp_path)) is None


def large_run(directory: Path) -> RunPaths:
    run = new_run(directory)
    for number in range(90):
        run.append(HumanRequest(call_id=str(number), question="x" * (64 << 10)))
        if number % 7:
            run.append(HumanResponse(call_id=str(number)))
        run.commit()
    run.close()
    return run.paths


def test_a_large_run_is_opened_from_its_snapshot_and_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = large_run(tmp_path)
    folded = fold(read_events(paths), RunView())
    applied: list[int] = []
    apply = RunView.apply

    def counting(view: RunView, event: Event) -> None:
        applied.append(event.seq)
        apply(view, event)

    monkeypatch.setattr(RunView, "apply", counting)
    run = open_run(paths.root, ports_in(tmp_path))
    assert run.view == folded
    assert 0 < len(applied) < len(lines_of(paths)) / 2
    run.close()


def test_without_its_snapshot_a_run_is_the_same(tmp_path: Path) -> None:
    paths = large_run(tmp_path)
    bare = copy_of(paths, tmp_path / "bare")
    (bare.logs / SNAPSHOT).unlink()
    assert read_view(bare, ports_in(tmp_path)) == read_view(paths, ports_in(tmp_path))


def test_a_snapshot_holds_exactly_the_events_before_its_offset_despite_appends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "MIN_SNAPSHOT_INTERVAL_BYTES", 1)
    monkeypatch.setattr(checkpoints, "SNAPSHOT_GROWTH_FACTOR", 0)
    run = new_run(tmp_path)
    taken: list[tuple[int, int]] = []

    def noting(
        path: Path, run_id: str, kind: str, state: bytes, *, position: Position, secret: bytes
    ) -> SnapshotHeader:
        taken.append((msgspec.json.decode(state, type=RunView).state.last_seq, position.seq - 1))
        return save_snapshot(path, run_id, kind, state, position=position, secret=secret)

    def produce(number: int) -> None:
        for step in range(200 if number % 2 else 20):
            run.append(HumanRequest(call_id=f"{number}-{step}"))
            if number % 2 == 0:
                run.commit()

    monkeypatch.setattr("skills_runtime.runs.run.save_snapshot", noting)
    with switching_often(), ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(produce, number) for number in range(8)]:
            future.result()
    run.close()
    assert len(taken) > 8
    assert [held for held in taken if held[0] != held[1]] == []
    assert [path.name for path in run.paths.logs.iterdir()] == [SNAPSHOT]


def test_nothing_is_appended_while_a_log_is_paused(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with run.log.pause() as position:
        thread = threading.Thread(target=run.append, args=[HumanResponse(call_id="late")])
        thread.start()
        thread.join(0.05)
        assert thread.is_alive()
        assert (position.seq, run.paths.events.stat().st_size) == (2, position.offset)
    thread.join()
    assert run.log.next_seq == 3
    run.close()
