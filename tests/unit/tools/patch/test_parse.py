"""What patches say, and which texts are none."""

import pytest

from skills_runtime.errors import ToolError
from skills_runtime.tools.patch import AddFile, DeleteFile, Hunk, Line, Section, UpdateFile, parse, parse_patch


def _parsed(*lines: str) -> tuple[Section, ...]:
    return parse_patch("\n".join(["*** Begin Patch", *lines, "*** End Patch"]))


def _hunks(*lines: str) -> tuple[Hunk, ...]:
    (section,) = _parsed("*** Update File: a", *lines)
    assert isinstance(section, UpdateFile)
    return section.hunks


def test_every_kind_of_section_is_read() -> None:
    assert _parsed(
        "*** Add File: new/a b.txt",
        "+one",
        "+",
        "*** Update File: c",
        "*** Move to: d",
        "@@ def f():",
        " keep",
        "-drop",
        "+add",
        "*** End of File",
        "*** Delete File: e",
    ) == (
        AddFile(path="new/a b.txt", lines=(Line("+", b"one"), Line("+", b""))),
        UpdateFile(
            path="c",
            moved_to="d",
            hunks=(
                Hunk(
                    number=1,
                    headers=(b"def f():",),
                    lines=(Line(" ", b"keep"), Line("-", b"drop"), Line("+", b"add")),
                    at_end=True,
                ),
            ),
        ),
        DeleteFile(path="e"),
    )


def test_a_file_may_only_get_another_name() -> None:
    assert _parsed("*** Update File: a", "*** Move to: b") == (UpdateFile(path="a", moved_to="b", hunks=()),)


def test_the_first_hunk_needs_no_mark() -> None:
    assert [hunk.old for hunk in _hunks("-a", "@@", "-b")] == [[b"a"], [b"b"]]


def test_headers_narrow_one_after_the_other() -> None:
    assert _hunks("@@ class A:", "@@   def f():", "-x")[0].headers == (b"class A:", b"  def f():")


def test_line_numbers_of_other_formats_are_passed_over() -> None:
    assert _hunks("@@ -1,3 +1,4 @@ def f():", "-x")[0].headers == ()


def test_an_empty_line_is_empty_context_but_not_at_the_end() -> None:
    assert _hunks("-a", "", "-b", "", "")[0].old == [b"a", b"", b"b"]


def test_a_line_may_say_that_no_newline_follows() -> None:
    assert _hunks("-a", "\\ No newline at end of file", "+b")[0].lines == (
        Line("-", b"a", terminated=False),
        Line("+", b"b"),
    )


def test_a_patch_with_carriage_returns_throughout_is_read_without_them() -> None:
    (section,) = parse_patch("*** Begin Patch\r\n*** Update File: a\r\n@@ x\r\n-b\r\n*** End Patch\r\n")
    assert section == UpdateFile(path="a", hunks=(Hunk(number=1, headers=(b"x",), lines=(Line("-", b"b"),)),))


def test_carriage_returns_in_some_lines_are_part_of_them() -> None:
    (hunk,) = _hunks("-a\r", "+b")
    assert hunk.old == [b"a\r"]
    assert hunk.has_carriage_returns


def test_separators_that_others_take_for_line_ends_are_text() -> None:
    assert _hunks("-a\u2028b\x0cc\x85d\x0be")[0].old == ["a\u2028b\x0cc\x85d\x0be".encode()]


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ((), "changes nothing"),
        (("hello",), "line 2 of the patch is `hello`, which belongs to no file"),
        (("*** Add File:",), "line 2 of the patch names no file"),
        (("*** Add File: a", "+x", "y"), "line 4 of the patch is `y`"),
        (("*** Add File: a", "+x", " y"), "not all of its lines begin with `\\+`"),
        (("*** Delete File: a", "-x"), "line 3 of the patch follows the deletion of `a`"),
        (("*** Update File: a",), "line 2 of the patch updates `a` without saying how"),
        (("*** Update File: a", "@@"), "ends hunk 1, which is empty"),
        (("*** Update File: a", "*** Move to: ", "-x"), "line 3 of the patch names no file"),
        (("*** Update File: a", "*x"), "line 3 of the patch is `\\*x`"),
        (("*** Update File: a", "*** Nonsense", "-x"), "ends hunk 1, which is empty"),
    ],
)
def test_errors_name_the_line(lines: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(ToolError, match=complaint) as caught:
        _parsed(*lines)
    assert caught.value.kind == "validation"
    assert caught.value.hint


@pytest.mark.parametrize(
    "text", ["", "x", "*** Begin Patch", "*** End Patch", "*** Begin Patch\n+x", "+x\n*** End Patch"]
)
def test_a_text_without_its_envelope_is_no_patch(text: str) -> None:
    with pytest.raises(ToolError, match="not a patch in the expected form"):
        parse_patch(text)


@pytest.mark.parametrize(("name", "value"), [("MAX_BYTES", 40), ("MAX_SECTIONS", 1), ("MAX_HUNKS", 1)])
def test_a_patch_has_a_size(name: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, name, value)
    with pytest.raises(ToolError, match=r"more than|larger than"):
        _parsed("*** Update File: a", "-x", "@@", "-y", "*** Delete File: b")
