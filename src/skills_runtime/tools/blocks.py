"""Which lines belong together by their indentation.

Pure.
"""

from collections.abc import Iterable, Sequence

import msgspec

TAB_WIDTH = 4

_CLOSERS = (b"}", b")", b"]", b"end", b"fi", b"done", b"esac")
_HEADERS = (b"#", b"//", b"/*", b"*", b"@", b"--")


class Extent(msgspec.Struct, frozen=True, kw_only=True):
    """How much around a line belongs to it."""

    levels: int = 4
    """How many enclosing blocks; 0 is all of them."""
    siblings: bool = False
    """Whether blocks beside the outermost one belong to it."""
    header: bool = True
    """Whether comments and decorators directly above belong to it."""


def indentation(line: bytes) -> int | None:
    """How far the line is indented, or nothing when it is blank."""
    if not line.strip():
        return None
    leading = line[: len(line) - len(line.lstrip(b" \t"))]
    return len(leading.expandtabs(TAB_WIDTH))


def block_around(lines: Sequence[bytes], anchor: int, extent: Extent) -> range:
    """The numbers, counted from 0, of the lines that belong to line `anchor`."""
    top, level = _outermost(lines, anchor, extent.levels)
    first, last = top, max(anchor, _last_of_block(lines, top, level))
    if extent.siblings:
        first = _last_within(lines, range(top - 1, -1, -1), level, top)
        last = _last_within(lines, range(last + 1, len(lines)), level, last)
    if extent.header:
        while first > 0 and indentation(lines[first - 1]) == level and _is_header(lines[first - 1]):
            first -= 1
    return range(first, last + 1)


def window(block: range, anchor: int, count: int) -> range:
    """At most `count` lines of the block, around the anchor."""
    first = max(block.start, min(anchor - count // 2, block.stop - count))
    return range(first, min(first + count, block.stop))


def _outermost(lines: Sequence[bytes], anchor: int, levels: int) -> tuple[int, int]:
    """The first line of the block that encloses the anchor so many levels up, and its indentation."""
    top = anchor
    level = indentation(lines[top])
    while level is None and top > 0:
        top -= 1
        level = indentation(lines[top])
    level, climbed = level or 0, 0
    for number in range(top - 1, -1, -1):
        if level == 0 or (levels and climbed == levels):
            break
        found = indentation(lines[number])
        if found is not None and found < level:
            top, level, climbed = number, found, climbed + 1
    return top, level


def _last_of_block(lines: Sequence[bytes], top: int, level: int) -> int:
    last = top
    for number in range(top + 1, len(lines)):
        found = indentation(lines[number])
        if found is None:
            continue
        closes = found == level and lines[number].strip().startswith(_CLOSERS)
        if found <= level and not closes:
            break
        last = number
        if closes and not lines[number].rstrip().endswith((b"{", b":", b"(", b"[")):
            break
    return last


def _last_within(lines: Sequence[bytes], numbers: Iterable[int], level: int, start: int) -> int:
    """The last of the lines, one after another, that are not indented less."""
    last = start
    for number in numbers:
        found = indentation(lines[number])
        if found is not None and found < level:
            break
        last = number if found is not None else last
    return last


def _is_header(line: bytes) -> bool:
    return line.strip().startswith(_HEADERS)
