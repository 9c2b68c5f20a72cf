"""The ways to write a value, symbol by symbol."""

import re

import pytest

from skills_runtime.safety.redaction.encodings import Symbol, rows_of
from skills_runtime.safety.redaction.known import Known
from skills_runtime.safety.redaction.pattern import Pattern, chain, either, literal, many, one, optional, repeated

EVERY_KIND = "aZ0 é中🙂\n\r\t\b\f\"'\\/%+&<>=:;-_.~\x00\x1b\x7f"


def _symbols() -> list[Symbol]:
    return [symbol for row in rows_of(EVERY_KIND * 3) for symbol in row]


def test_a_symbol_knows_every_byte_it_may_begin_with() -> None:
    for symbol in set(_symbols()):
        begun = re.compile(symbol.pattern.begun.encode())
        first = {byte for byte in range(256) if begun.fullmatch(bytes([byte]))}
        assert first <= symbol.single | symbol.leads


def test_a_value_is_written_in_five_ways() -> None:
    assert [len(row) for row in rows_of("abcd")] == [4, 5, 6, 5, 8]


@pytest.mark.parametrize("value", [EVERY_KIND, "x" * 100_000])
def test_every_way_to_write_a_value_is_found_whole(value: str) -> None:
    known = Known([value])
    for text in (value.encode(), value.encode().hex().encode()):
        assert known.spans(b"<" + text + b">") == [(1, len(text) + 1)]
        assert known.spans_so_far(b"<" + text[:-1]) == ([], 1)


@pytest.mark.parametrize(
    ("pattern", "wholes"),
    [
        (literal("ab"), ["ab"]),
        (chain(many("[0-9]", 2, 4), one("x")), ["12x", "1234x"]),
        (either(literal("ab"), chain(literal("ac"), optional(literal("de")))), ["ab", "ac", "acde"]),
        (chain(repeated(literal("ab")), one("c")), ["c", "abc", "ababc"]),
    ],
)
def test_every_beginning_of_a_whole_is_begun(pattern: Pattern, wholes: list[str]) -> None:
    for whole in wholes:
        assert re.fullmatch(pattern.whole, whole)
        assert all(re.fullmatch(pattern.begun, whole[:end]) for end in range(len(whole) + 1))
        assert not re.fullmatch(pattern.begun, whole + "!")
