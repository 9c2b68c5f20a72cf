"""Text that arrives in pieces is wrapped as if it had come at once."""

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from skills_runtime.cli.text_stream import TextStream

WIDTH = 20
PIECES = st.lists(st.text("ab cd\n长度，", max_size=30), max_size=12)


def rows_of(*pieces: str) -> list[str]:
    stream = TextStream(Console(file=io.StringIO(), width=WIDTH))
    rows = [row for piece in pieces for row in stream.feed(piece)]
    return [*rows, *stream.flush()]


@given(PIECES)
def test_pieces_do_not_change_the_rows(pieces: list[str]) -> None:
    assert rows_of(*pieces) == rows_of("".join(pieces))


@given(PIECES)
def test_rows_fit_and_no_word_is_lost(pieces: list[str]) -> None:
    rows = rows_of(*pieces)
    assert all(cell_len(row) <= WIDTH for row in rows)
    assert "".join("".join(rows).split()) == "".join("".join(pieces).split())


def test_the_growing_row_is_held_back_until_it_is_complete() -> None:
    stream = TextStream(Console(file=io.StringIO(), width=WIDTH))
    assert (stream.feed("One two "), stream.partial) == ([], "One two ")
    assert (stream.feed("three four five "), stream.partial) == (["One two three four"], "five ")
    assert (stream.feed("six\n\nseven"), stream.partial) == (["five six", ""], "seven")
    assert (stream.flush(), stream.partial) == (["seven"], "")


def test_what_a_model_writes_cannot_control_the_terminal() -> None:
    assert rows_of("\x1b[2J\tx") == ["\\x1b[2J    x"]
