"""What becomes of each file when a patch is about several."""

import hashlib

import pytest

from skills_runtime.errors import ToolError
from skills_runtime.ports import FileChange
from skills_runtime.tools.patch import Change, Plan, build_plan, parse_patch, paths_to_read


def _plan(contents: dict[str, bytes], *lines: str) -> Plan:
    sections = parse_patch("\n".join(["*** Begin Patch", *lines, "*** End Patch"]))
    assert set(paths_to_read(sections)) <= contents.keys()
    return build_plan(sections, contents)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_only_files_that_exist_are_read() -> None:
    sections = parse_patch(
        "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n-x\n*** Delete File: c\n*** End Patch"
    )
    assert paths_to_read(sections) == ["b", "c"]


def test_each_file_expects_what_was_read() -> None:
    plan = _plan(
        {"b": b"x\ny\n", "c": b"1\n2"},
        "*** Add File: a",
        "+x",
        "*** Update File: b",
        "*** Move to: d",
        "-x",
        "*** Delete File: c",
    )
    assert plan.files == (
        FileChange(path="a", before_sha256=None, data=b"x\n"),
        FileChange(path="b", before_sha256=_digest(b"x\ny\n"), data=b"y\n", moved_to="d"),
        FileChange(path="c", before_sha256=_digest(b"1\n2"), data=None),
    )
    assert plan.changes == (
        Change(kind="add", path="a", added=1, removed=0),
        Change(kind="update", path="b", moved_to="d", added=0, removed=1),
        Change(kind="delete", path="c", added=0, removed=2),
    )


def test_a_second_update_goes_on_where_the_first_ended() -> None:
    plan = _plan({"a": b"1\n2\n"}, "*** Update File: a", "-2", "+3", "*** Update File: a", "-1", "+0", " 3")
    assert plan.files == (FileChange(path="a", before_sha256=_digest(b"1\n2\n"), data=b"0\n3\n"),)
    assert plan.changes == (Change(kind="update", path="a", added=2, removed=2),)


def test_an_update_may_empty_a_file_and_another_fill_it() -> None:
    plan = _plan({"a": b"1\n"}, "*** Update File: a", "-1", "*** Update File: a", "+2")
    assert plan.files[0].data == b"2\n"


@pytest.mark.parametrize(
    "lines",
    [
        ("*** Add File: a", "+x", "*** Add File: a", "+y"),
        ("*** Add File: a", "+x", "*** Update File: a", "-1"),
        ("*** Delete File: a", "*** Update File: a", "-1"),
        ("*** Update File: a", "-1", "*** Delete File: a"),
        ("*** Update File: a", "*** Move to: b", "-1", "*** Update File: a", "+1"),
    ],
)
def test_different_things_about_one_file_are_refused(lines: tuple[str, ...]) -> None:
    with pytest.raises(ToolError, match="conflicting sections for `a`"):
        _plan({"a": b"1\n"}, *lines)


def test_a_file_moved_to_its_own_name_is_not_moved() -> None:
    assert _plan({"a": b"1\n"}, "*** Update File: a", "*** Move to: a", "-1", "+2").files[0].moved_to is None


def test_a_new_file_may_have_no_lines_or_no_final_newline() -> None:
    plan = _plan({}, "*** Add File: a", "*** Add File: b", "+x", "\\ No newline at end of file", "*** Add File: c", "+")
    assert [change.data for change in plan.files] == [b"", b"x", b"\n"]
