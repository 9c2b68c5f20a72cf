"""Where hunks fit, which bytes they leave alone, and what is said when they fit nowhere."""

import time

import pytest

from skills_runtime.errors import ToolError
from skills_runtime.tools.patch import UpdateFile, apply_hunks, parse_patch


def _patched(data: bytes, *lines: str) -> bytes:
    return _with_notes(data, *lines)[0]


def _with_notes(data: bytes, *lines: str) -> tuple[bytes, tuple[str, ...]]:
    (section,) = parse_patch("\n".join(["*** Begin Patch", "*** Update File: f", *lines, "*** End Patch"]))
    assert isinstance(section, UpdateFile)
    result = apply_hunks(data, section.hunks, "f")
    return result.data, result.notes


def _complaint(data: bytes, *lines: str) -> str:
    with pytest.raises(ToolError) as caught:
        _patched(data, *lines)
    assert caught.value.kind == "validation"
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize(
    ("data", "lines", "result"),
    [
        pytest.param(b"a\nb\nc\n", (" a", "-b", "+B", " c"), b"a\nB\nc\n", id="replace"),
        pytest.param(b"a\nb\n", ("-a",), b"b\n", id="drop"),
        pytest.param(b"a\nb\n", (" a", "+x"), b"a\nx\nb\n", id="add"),
        pytest.param(b"a\n", ("-a",), b"", id="drop everything"),
        pytest.param(b"", ("+a",), b"a\n", id="add to nothing"),
        pytest.param(b"a\n", ("+b",), b"a\nb\n", id="add at the end"),
        pytest.param(b"a\nb\n", ("@@ a", "+x"), b"a\nx\nb\n", id="add below a header"),
        pytest.param(b"a\nb\n", ("+end", "@@", "-a", "+A"), b"A\nb\nend\n", id="the end may come first"),
    ],
)
def test_lines_come_and_go(data: bytes, lines: tuple[str, ...], result: bytes) -> None:
    assert _patched(data, *lines) == result


@pytest.mark.parametrize(
    ("data", "lines", "result"),
    [
        pytest.param(b"a\r\nb\r\n", (" a", "-b", "+B", "+C"), b"a\r\nB\r\nC\r\n", id="CRLF"),
        pytest.param(b"a\r\nb\nc\r\n", ("-a", "-b", "-c", "+1", "+2", "+3"), b"1\r\n2\n3\r\n", id="each its own"),
        pytest.param(b"a\r\nb\n", (" a", "+x"), b"a\r\nx\r\nb\n", id="like the line before"),
        pytest.param(b"a\nb", ("-b", "+B"), b"a\nB", id="no final newline"),
        pytest.param(b"a\r\nb", ("-b", "+B", "+C"), b"a\r\nB\r\nC", id="no final newline, two lines"),
        pytest.param(b"a", (" a", "+b"), b"a\nb", id="a line behind the last"),
        pytest.param(b"a\r\nb", ("+c",), b"a\r\nb\r\nc", id="a line at the end"),
        pytest.param(b"a\nb", ("-b",), b"a\n", id="the bytes of other lines stay"),
        pytest.param(b"\xef\xbb\xbfa\n", ("-a", "+b"), b"\xef\xbb\xbfb\n", id="byte order mark"),
        pytest.param(b"a\rb\n", ("-a\rb", "+c"), b"c\n", id="a carriage return inside"),
        pytest.param(b"a\n\x0c\n\xff\n", ("-a", "+b"), b"b\n\x0c\n\xff\n", id="bytes that are not text"),
        pytest.param("a\u2028b\n".encode(), ("-a\u2028b", "+c"), b"c\n", id="U+2028"),
        pytest.param(b"a  \nb\n", (" a", "-b", "+c"), b"a  \nc\n", id="blanks at line ends"),
    ],
)
def test_endings_and_bytes_stay(data: bytes, lines: tuple[str, ...], result: bytes) -> None:
    assert _patched(data, *lines) == result


@pytest.mark.parametrize(
    ("data", "lines", "result"),
    [
        pytest.param(b"a\n", ("-a", "+a\r"), b"a\r\n", id="to CRLF"),
        pytest.param(b"a\r\n", ("-a\r", "+a"), b"a\n", id="to LF"),
        pytest.param(b"a\n", ("-a", "+a", "\\ No newline at end of file"), b"a", id="without final newline"),
        pytest.param(b"a", ("-a", "\\ No newline at end of file", "+a"), b"a\n", id="with final newline"),
    ],
)
def test_a_hunk_that_spells_line_ends_changes_them(data: bytes, lines: tuple[str, ...], result: bytes) -> None:
    assert _patched(data, *lines) == result


def test_the_first_exact_place_is_used_and_others_are_mentioned() -> None:
    data, notes = _with_notes(b"x\na\nx\n", "-x", "+y")
    assert data == b"y\na\nx\n"
    assert notes == ("hunk 1 of f: used at line 1, the first of several matches",)


def test_an_exact_place_goes_before_an_earlier_one_with_other_blanks() -> None:
    assert _with_notes(b"x \nx\n", "-x", "+y") == (b"x \ny\n", ())


def test_a_place_with_other_blanks_is_used_only_when_it_is_the_only_one() -> None:
    assert _patched(b"x \n", "-x", "+y") == b"y\n"
    assert "fits both line 1 and line 3" in _complaint(b"x \na\nx\t\n", "-x", "+y")


def test_a_header_says_below_which_line_a_hunk_is() -> None:
    code = b"def f():\n  return 1\ndef g():\n  return 1\n"
    assert _patched(code, "@@ def g():", "-  return 1", "+  return 2") == code[:-2] + b"2\n"


def test_a_header_may_be_written_without_its_indentation() -> None:
    assert _patched(b"x\nclass A:\n  def f():\nx\n", "@@ class A:", "@@ def f():", "-x", "+y").endswith(b"f():\ny\n")


def test_a_hunk_at_the_end_of_the_file_fits_only_there() -> None:
    assert _patched(b"x\na\nx\n", "-x", "+y", "*** End of File") == b"x\na\ny\n"
    assert "does not match" in _complaint(b"x\na\n", "-x", "+y", "*** End of File")


def test_hunks_apply_from_the_top_down() -> None:
    assert _patched(b"x\nx\nx\n", "-x", "+1", "@@", "-x", "+2") == b"1\n2\nx\n"
    assert _complaint(b"a\nb\n", "-b", "@@", "-a") == "hunk 2 of `f` does not match below line 2, only at line 1"


def test_a_missing_header_is_named() -> None:
    assert _complaint(b"a\n", "@@ def f():", "-a") == "hunk 1 of `f`: there is no line `def f():`"
    assert _complaint(b"a\nb\n", "-a", "@@ a", "-b").endswith("there is no line `a` below line 1")


def test_a_hunk_that_fits_nowhere_is_shown_what_comes_nearest() -> None:
    data = b"one\ntwo\nthree\nfour\n"
    assert _complaint(data, " one", " tow", "-three") == (
        "hunk 1 of `f` does not match: at line 2 the file has `two` where the patch has `tow`\n"
        "L1: one\nL2: two\nL3: three\nL4: four"
    )


def test_a_line_that_was_mistyped_is_shown_as_it_is() -> None:
    assert "at line 2 the file has `return value`" in _complaint(b"a\nreturn value\n", "-return valeu")


def test_a_line_like_no_other_is_named() -> None:
    assert _complaint(b"a\nb\n", "-something else").endswith("no line resembles `something else`")
    assert _complaint(b"", "-x").endswith("the file is empty")
    assert _complaint(b"a\nlast\n", " last", "-more").startswith(
        "hunk 1 of `f` does not match: at line 3 the file ends where the patch has `more`"
    )


def test_a_line_that_differs_in_its_indentation_is_shown() -> None:
    assert "at line 1 the file has `    x` where the patch has `  x`" in _complaint(b"    x\n", "-  x")


def test_repetitive_files_take_no_longer_than_others() -> None:
    data = b"x\n" * 300_000
    begun = time.process_time()
    assert "does not match" in _complaint(data, *["-x"] * 50_000, "-y")
    assert time.process_time() - begun < 20
