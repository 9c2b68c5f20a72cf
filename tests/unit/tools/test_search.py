"""Lines that match, however the text is cut into pieces."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.errors import ToolError
from skills_runtime.tools import search
from skills_runtime.tools.search import Hit, Pattern


def _hits(pattern: str, text: bytes) -> list[Hit]:
    found = Pattern(pattern)
    return [hit for piece in found.pieces(text) for hit in found.hits(piece)]


def test_every_matching_line_is_found_once_with_its_number() -> None:
    assert _hits("a", b"a a\nb\n\nca") == [Hit(1, b"a a"), Hit(4, b"ca")]


@given(st.lists(st.text("ab \u00e9", max_size=6), max_size=20), st.integers(1, 12), st.booleans())
def test_pieces_do_not_change_what_is_found(lines: list[str], size: int, final: bool) -> None:
    text = "\n".join(lines).encode() + b"\n" * final
    wanted = [
        Hit(number, line.encode())
        for number, line in enumerate(text.decode().removesuffix("\n").split("\n") if text else [], start=1)
        if re.search(r"a+ ?b|^$", line)
    ]
    pattern = Pattern("a+ ?b|^$")
    longest = max((len(line.encode()) for line in lines), default=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pattern, "_piece_bytes", longest + size)
        assert [hit for piece in pattern.pieces(text) for hit in pattern.hits(piece)] == wanted


def test_of_a_line_that_is_too_long_the_beginning_is_searched_and_that_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "MAX_WORK", 1)
    monkeypatch.setattr(search, "MIN_PIECE", 4)
    pattern = Pattern("x")
    pieces = list(pattern.pieces(b"ab\nx23456x\ncx\n"))
    assert [(piece.line, piece.data, piece.is_cut) for piece in pieces] == [
        (1, b"ab\n", False),
        (2, b"x234", True),
        (3, b"cx\n", False),
    ]


def test_a_larger_pattern_gets_smaller_pieces() -> None:
    text = bytes(random.Random(1).choices(b"ab", k=200_000))
    small, large = Pattern("ab"), Pattern("(a[ab]{1,31}){1,31}c")
    assert len(next(small.pieces(text)).data) > len(next(large.pieces(text)).data)


def test_bytes_that_are_not_text_do_not_hide_what_is_around_them() -> None:
    assert _hits("é", b"\xff\xfe\xc3\xa9\n") == [Hit(1, b"\xff\xfe\xc3\xa9")]


@pytest.mark.parametrize("pattern", [r"\pL{100}", "(", "a**"])
def test_what_cannot_be_searched_for_is_refused(pattern: str) -> None:
    with pytest.raises(ToolError) as caught:
        Pattern(pattern)
    assert caught.value.kind == "validation"
