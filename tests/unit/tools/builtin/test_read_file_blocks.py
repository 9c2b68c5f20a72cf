"""Blocks of languages with and without braces."""

import pytest

from skills_runtime.tools.builtin.read_file import Extent, block_around, indentation, window

C = b"""\
int other;

/* adds */
int add(int a,
        int b)
{
\tif (a) {
\t\treturn b;
\t} else {
\t\treturn a;
\t}
}
int last;
""".split(b"\n")


@pytest.mark.parametrize(
    ("line", "columns"), [(b"", None), (b" \t ", None), (b"x", 0), (b"  x", 2), (b"\tx", 4), (b"  \tx", 4)]
)
def test_a_line_is_indented_by_columns(line: bytes, columns: int | None) -> None:
    assert indentation(line) == columns


def test_a_closing_brace_belongs_to_its_block() -> None:
    assert block_around(C, 7, Extent(levels=1)) == range(6, 11)


def test_the_line_that_opens_a_block_begins_it() -> None:
    assert block_around(C, 7, Extent(levels=2)) == range(5, 12)


def test_a_line_that_opens_nothing_stands_alone() -> None:
    assert block_around(C, 0, Extent()) == range(1)
    assert block_around(C, 12, Extent()) == range(12, 13)


def test_comments_directly_above_belong_to_a_block() -> None:
    assert block_around(C, 3, Extent()) == range(2, 5)
    assert block_around(C, 3, Extent(header=False)) == range(3, 5)


def test_siblings_at_the_outermost_level_are_everything() -> None:
    assert block_around(C, 7, Extent(levels=0, siblings=True)) == range(13)


def test_a_blank_line_belongs_to_what_is_above_it() -> None:
    assert block_around([b"def f():", b"  a", b"", b"  b"], 2, Extent()) == range(4)
    assert block_around([b"", b"x"], 0, Extent()) == range(1)


@pytest.mark.parametrize(
    ("anchor", "count", "lines"),
    [(5, 100, range(10)), (5, 4, range(3, 7)), (0, 4, range(4)), (9, 4, range(6, 10)), (5, 1, range(5, 6))],
)
def test_a_window_holds_the_anchor_and_stays_in_the_block(anchor: int, count: int, lines: range) -> None:
    assert window(range(10), anchor, count) == lines
