"""Checkpoints make opening a large log cheap, and are believed only when they are ours and fit the log."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import LogCorrupt
from skills_runtime.events.payloads import HumanResponse
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log import authenticate, follow_lines, open_log, read_events
from skills_runtime.runs.run import open_run
from tests.support.runs import copy_of, keys_in, lines_of, new_run, ports_in

MEBIBYTE = 1 << 20


def large_run(directory: Path, size: int = 5 * MEBIBYTE, *, line: int = 64 << 10) -> RunPaths:
    """A run with a log of about this size, committed at every line."""
    run = new_run(directory)
    while run.log.position.offset < size:
        run.append(HumanResponse(call_id="call", answer="x" * line))
        run.commit()
    run.close()
    return run.paths


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunPaths]:
    path = tmp_path_factory.mktemp("large")
    return path, large_run(path)


@contextmanager
def counted_reads() -> Generator[Callable[[], int]]:
    """Counts the bytes that are read while the block runs."""
    total = 0
    pread = os.pread

    def counting(fd: int, size: int, offset: int) -> bytes:
        nonlocal total
        data = pread(fd, size, offset)
        total += len(data)
        return data

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "pread", counting)
        yield lambda: total


def bytes_to_open(paths: RunPaths, directory: Path) -> int:
    with counted_reads() as total:
        log, lock = open_log(paths, ports_in(directory))
        read = total()
    log.close()
    lock.release()
    return read


def checkpoints_of(paths: RunPaths) -> list[bytes]:
    return (paths.logs / "checkpoints.jsonl").read_bytes().splitlines(keepends=True)


def test_a_checkpoint_is_made_for_every_mebibyte_that_was_committed(large: tuple[Path, RunPaths]) -> None:
    offsets = [msgspec.json.decode(line)["position"]["offset"] for line in checkpoints_of(large[1])]
    assert [offset // MEBIBYTE for offset in offsets] == [1, 2, 3, 4, 5]


def test_opening_a_log_of_five_mebibytes_reads_its_end_only(large: tuple[Path, RunPaths], tmp_path: Path) -> None:
    assert bytes_to_open(copy_of(large[1], tmp_path / "run"), large[0]) < 1.2 * MEBIBYTE


def test_the_end_that_is_read_is_less_than_a_mebibyte_and_a_bit(tmp_path: Path) -> None:
    paths = large_run(tmp_path, 2 * MEBIBYTE - (80 << 10), line=4000)
    assert 0.8 * MEBIBYTE < bytes_to_open(paths, tmp_path) < 1.2 * MEBIBYTE


@pytest.mark.parametrize("tag", ["0" * 32, "", "ü", "0" * 31])
def test_a_checkpoint_with_a_forged_tag_is_ignored(tag: str, large: tuple[Path, RunPaths], tmp_path: Path) -> None:
    paths = copy_of(large[1], tmp_path / "run")
    forged = [msgspec.json.decode(line) | {"tag": tag} for line in checkpoints_of(paths)]
    (paths.logs / "checkpoints.jsonl").write_bytes(b"".join(msgspec.json.encode(payload) + b"\n" for payload in forged))
    assert bytes_to_open(paths, large[0]) > 5 * MEBIBYTE


def test_a_checkpoint_of_another_run_is_ignored(tmp_path: Path) -> None:
    for name in ("a", "b"):
        run = new_run(tmp_path, run_id=name)
        run.append(HumanResponse(call_id="call", answer="x" * MEBIBYTE))
        run.commit()
        run.close()
    ours, theirs = (RunPaths(tmp_path / "runs" / name) for name in ("a", "b"))
    (ours.logs / "checkpoints.jsonl").write_bytes(b"".join(checkpoints_of(theirs)))
    assert bytes_to_open(ours, tmp_path) > MEBIBYTE


def test_a_checkpoint_behind_the_end_of_the_log_is_ignored(large: tuple[Path, RunPaths], tmp_path: Path) -> None:
    lines = lines_of(large[1])[:20]
    paths = copy_of(large[1], tmp_path / "run", b"".join(lines))
    log, lock = open_log(paths, ports_in(large[0]))
    assert log.next_seq == 20
    log.close()
    lock.release()


@pytest.mark.parametrize("junk", [b"\n\n", b"garbage\n", b"\xff\xfe\n", b"[" * 5000 + b"\n", b'{"position":{"seq":1'])
def test_junk_among_the_checkpoints_is_passed_over(junk: bytes, large: tuple[Path, RunPaths], tmp_path: Path) -> None:
    paths = copy_of(large[1], tmp_path / "run")
    with (paths.logs / "checkpoints.jsonl").open("ab") as file:
        file.write(junk)
    assert bytes_to_open(paths, large[0]) < 1.2 * MEBIBYTE


def test_damage_before_the_last_checkpoint_does_not_give_a_run_with_half_its_past(tmp_path: Path) -> None:
    paths = large_run(tmp_path, 2 * MEBIBYTE)
    data = bytearray(paths.events.read_bytes())
    data[MEBIBYTE // 2] ^= 1
    paths.events.write_bytes(data)
    with pytest.raises(LogCorrupt, match="line 10 of the log was changed"):
        open_run(paths.root, ports_in(tmp_path))
    with pytest.raises(LogCorrupt, match="line 10 of the log was changed"):
        authenticate(paths, keys_in(tmp_path))


def forge_hint(paths: RunPaths, seq: int, line: int) -> None:
    """Say that event `seq` begins where line `line` does, as somebody without the key can."""
    lines = lines_of(paths)
    head = msgspec.json.decode(lines[line - 1])["mac"]
    position = {"seq": seq, "offset": sum(map(len, lines[:line])), "head": head}
    forged = msgspec.json.encode({"position": position, "tag": "0" * 32}) + b"\n"
    (paths.logs / "checkpoints.jsonl").write_bytes(forged)


@pytest.mark.parametrize(("seq", "line"), [(5, 3), (3, 5), (5, 10), (0, 4)])
async def test_readers_are_not_misled_by_a_forged_checkpoint(seq: int, line: int, tmp_path: Path) -> None:
    run = new_run(tmp_path)
    for number in range(8):
        run.append(HumanResponse(call_id=str(number)))
    forge_hint(run.paths, seq, line)
    assert [event.seq for event in read_events(run.paths, from_seq=seq)] == list(range(seq, 10))
    lines = follow_lines(run.paths, from_seq=seq)
    assert msgspec.json.decode(await anext(lines))["seq"] == seq
    await lines.aclose()
    run.close()


def test_readers_begin_at_the_checkpoint_before_the_event_they_want(large: tuple[Path, RunPaths]) -> None:
    last = len(lines_of(large[1])) - 1
    with counted_reads() as total:
        assert [event.seq for event in read_events(large[1], from_seq=last)] == [last]
        assert total() < 2 * MEBIBYTE
