"""Marks that every terminal can show."""

import ast
import io
from pathlib import Path

import pytest

from skills_runtime.cli import marks
from skills_runtime.cli.marks import ASCII_MARKS, ENCODE_ERRORS, adapt_marks, register_error_handler, to_ascii_marks

SOURCES = sorted(Path(marks.__file__).parent.glob("*.py"))


def test_every_mark_of_the_command_line_has_an_ascii_form() -> None:
    used = {
        character
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for character in node.value
        if not character.isascii()
    }
    assert used <= set(ASCII_MARKS)
    assert all(form.isascii() for form in ASCII_MARKS.values())


@pytest.mark.parametrize(("encoding", "text"), [("ascii", "ok done ... \\u4f60"), ("utf-8", "✓ done … 你")])
def test_a_stream_gets_the_marks_that_it_can_encode(encoding: str, text: str) -> None:
    register_error_handler()
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding=encoding, errors=ENCODE_ERRORS)
    stream.write("✓ done … 你")
    stream.flush()
    assert buffer.getvalue().decode() == text


def test_other_characters_stay_as_they_are() -> None:
    assert to_ascii_marks("✗ 失败 · x → y") == "x 失败 - x -> y"


def test_a_stream_that_is_not_utf_8_is_adapted_and_one_that_is_stays() -> None:
    plain = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    assert adapt_marks(plain) is plain
    buffer = io.BytesIO()
    narrow = io.TextIOWrapper(buffer, encoding="latin-1", errors="backslashreplace", write_through=True)
    adapted = adapt_marks(narrow)
    adapted.write("✓ ok")
    adapted.flush()
    assert buffer.getvalue() == b"ok ok"
    assert not adapted.isatty()
