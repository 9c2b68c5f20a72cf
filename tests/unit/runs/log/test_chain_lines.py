"""Lines come out whole, wherever the reads happen to cut the file."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skills_runtime.runs.log import chain
from skills_runtime.runs.log.chain import Line, read_line_before, read_lines

TEXT = b"first\n\nthird line\nx\nlast without end"
LINES = [
    Line(0, b"first", complete=True),
    Line(6, b"", complete=True),
    Line(7, b"third line", complete=True),
    Line(18, b"x", complete=True),
    Line(20, b"last without end", complete=False),
]


@contextmanager
def opened(path: Path, data: bytes) -> Generator[int]:
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


@pytest.mark.parametrize("chunk", range(1, len(TEXT) + 2))
def test_lines_are_the_same_at_every_size_of_a_read(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain, "CHUNK", chunk)
    with opened(tmp_path / "file", TEXT) as fd:
        assert list(read_lines(fd)) == LINES


@pytest.mark.parametrize("start", [0, 6, 7, 18, 20])
def test_reading_may_begin_at_any_line(start: int, tmp_path: Path) -> None:
    with opened(tmp_path / "file", TEXT) as fd:
        assert list(read_lines(fd, start)) == [line for line in LINES if line.offset >= start]


@pytest.mark.parametrize("chunk", [1, 3, 4096])
@pytest.mark.parametrize("end", range(len(TEXT) + 1))
def test_nothing_behind_the_given_end_is_read(
    end: int, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain, "CHUNK", chunk)
    with opened(tmp_path / "file", TEXT) as fd:
        lines = list(read_lines(fd, end=end))
    assert b"".join(line.data + b"\n" * line.complete for line in lines) == TEXT[:end]


def test_an_end_before_the_start_gives_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "file", TEXT) as fd:
        assert list(read_lines(fd, 18, end=6)) == []


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    with opened(tmp_path / "file", b"") as fd:
        assert list(read_lines(fd)) == []


def test_the_line_before_an_offset_is_found_only_where_a_line_ends(tmp_path: Path) -> None:
    ends = {6: b"first", 7: b"", 18: b"third line", 20: b"x"}
    with opened(tmp_path / "file", TEXT) as fd:
        result = {offset: read_line_before(fd, offset) for offset in range(len(TEXT) + 3)}
    assert {offset: line for offset, line in result.items() if line is not None} == ends


@pytest.mark.parametrize("size", [1, 4094, 4095, 4096, 4097, 40_000, 300_000])
def test_the_line_before_an_offset_may_be_of_any_length(size: int, tmp_path: Path) -> None:
    line = b"y" * size
    with opened(tmp_path / "file", b"x\n" + line + b"\nrest") as fd:
        assert read_line_before(fd, size + 3) == line
