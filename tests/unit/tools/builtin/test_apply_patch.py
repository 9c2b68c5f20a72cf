"""apply_patch: what happens to the files, all of it or nothing."""

import hashlib
import stat
from pathlib import Path

import pytest

from skills_runtime.errors import DeleteDisabled, NotFound, PathEscape, SkillsRuntimeError, ToolError, WriteRefused
from skills_runtime.ports import ToolResult
from skills_runtime.safety import sanitize
from skills_runtime.tools.builtin import ApplyPatch, apply_patch
from tests.support.runs import count_descriptors
from tests.support.tools import Workshop, data_of, tree


def enveloped(body: str) -> str:
    return f"*** Begin Patch\n{body}\n*** End Patch\n"


async def _patch(workshop: Workshop, body: str) -> ToolResult:
    return await workshop.call(ApplyPatch(), input=enveloped(body))


async def test_one_patch_updates_and_adds_files(workshop: Workshop) -> None:
    workshop.write("a.py", "one\ntwo\nthree\n")
    result = await _patch(
        workshop, "*** Update File: a.py\n@@\n one\n-two\n+2\n+2.5\n three\n*** Add File: new/b.py\n+hello\n+"
    )
    assert workshop.contents() == {"a.py": b"one\n2\n2.5\nthree\n", "new/b.py": b"hello\n\n"}
    assert result.stdout == "update a.py (+2 -1)\nadd new/b.py (+2 -0)"
    assert data_of(result)["changes"] == [
        {"kind": "update", "path": "a.py", "added": 2, "removed": 1},
        {"kind": "add", "path": "new/b.py", "added": 2, "removed": 0},
    ]


async def test_files_are_deleted_and_moved_where_that_is_allowed(deleting: Workshop, tmp_path: Path) -> None:
    deleting.write("old", "a\nb\n")
    deleting.write("gone", "x\n")
    result = await _patch(deleting, "*** Update File: old\n*** Move to: in/new\n@@\n-a\n+A\n b\n*** Delete File: gone")
    assert deleting.contents() == {"in/new": b"A\nb\n"}
    assert data_of(result)["changes"] == [
        {"kind": "update", "path": "old", "moved_to": "in/new", "added": 1, "removed": 1},
        {"kind": "delete", "path": "gone", "added": 0, "removed": 1},
    ]
    trash = tmp_path / "run" / "logs" / "trash"
    assert sorted(kept.read_bytes() for kept in trash.iterdir()) == [b"a\nb\n", b"x\n"]


@pytest.mark.parametrize("body", ["*** Delete File: a", "*** Update File: a\n*** Move to: b"])
async def test_deleting_and_moving_are_refused_by_default_and_nothing_else_happens(
    body: str, workshop: Workshop
) -> None:
    workshop.write("a", "x\n")
    before = tree(workshop.root)
    with pytest.raises(DeleteDisabled):
        await _patch(workshop, f"*** Add File: new\n+x\n{body}")
    assert tree(workshop.root) == before


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o640])
async def test_the_mode_of_a_file_stays(mode: int, deleting: Workshop) -> None:
    for name in ("a", "b"):
        deleting.write(name, "x\n").chmod(mode)
    await _patch(deleting, "*** Update File: a\n@@\n-x\n+y\n*** Update File: b\n*** Move to: c\n@@\n-x\n+y")
    assert {stat.S_IMODE((deleting.root / name).stat().st_mode) for name in ("a", "c")} == {mode}


async def test_a_file_behind_a_link_inside_is_changed_where_it_is(workshop: Workshop) -> None:
    workshop.write("real", "x\n")
    (workshop.root / "link").symlink_to("real")
    await _patch(workshop, "*** Update File: link\n@@\n-x\n+y")
    assert (workshop.root / "real").read_text() == "y\n"
    assert (workshop.root / "link").is_symlink()


async def test_one_file_under_two_names_is_refused(workshop: Workshop) -> None:
    workshop.write("real", "x\n")
    (workshop.root / "link").symlink_to("real")
    before = tree(workshop.root)
    with pytest.raises(SkillsRuntimeError, match="is changed twice"):
        await _patch(workshop, "*** Update File: link\n@@\n-x\n+y\n*** Update File: real\n@@\n-x\n+z")
    assert tree(workshop.root) == before


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("*** Update File: a\n@@\n-wrong\n+y", ToolError),
        ("*** Update File: missing\n@@\n-x\n+y", NotFound),
        ("*** Add File: a\n+y", SkillsRuntimeError),
        ("*** Add File: ../out\n+y", PathEscape),
        ("*** Add File: .git/hooks/pre-commit\n+y", WriteRefused),
        ("*** Add File: a/b\n+y", SkillsRuntimeError),
        ("*** Add File: d\n+y", SkillsRuntimeError),
        ("*** Update File: d\n@@\n-x\n+y", SkillsRuntimeError),
        ("*** Update File: a\n@@\n-x\n+y\n*** Add File: a\n+z", ToolError),
        ("*** Add File: n/e/w\n+z\n*** Add File: n/e\n+z", SkillsRuntimeError),
    ],
)
async def test_a_patch_that_cannot_be_applied_whole_changes_nothing(
    body: str, error: type[Exception], workshop: Workshop
) -> None:
    workshop.write("a", "x\n")
    workshop.write("other", "o\n")
    (workshop.root / "d").mkdir()
    before = tree(workshop.root)
    for whole in (f"*** Update File: other\n@@\n-o\n+p\n{body}", f"{body}\n*** Add File: more/and/more\n+m"):
        with pytest.raises(error):
            await _patch(workshop, whole)
        assert tree(workshop.root) == before


async def test_a_file_that_is_too_large_is_refused(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply_patch, "MAX_FILE_BYTES", 3)
    workshop.write("a", "long\n")
    with pytest.raises(ToolError, match="too large"):
        await _patch(workshop, "*** Update File: a\n@@\n-long\n+y")


async def test_files_that_are_too_large_together_are_refused(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply_patch, "MAX_TOTAL_BYTES", 3)
    for name in "ab":
        workshop.write(name, "x\n")
    with pytest.raises(ToolError, match="too large together"):
        await _patch(workshop, "*** Update File: a\n@@\n-x\n+y\n*** Update File: b\n@@\n-x\n+y")


async def test_bytes_that_are_not_text_stay(workshop: Workshop) -> None:
    workshop.write("a", b"\xff\0\r\r\nx\r\n\x0c\xe2\x80\xa8\n\xfe")
    await _patch(workshop, "*** Update File: a\n@@\n-x\n+y")
    assert workshop.contents() == {"a": b"\xff\0\r\r\ny\r\n\x0c\xe2\x80\xa8\n\xfe"}


async def test_every_change_is_recorded_with_digests(workshop: Workshop) -> None:
    workshop.write("a", "x\n")
    await _patch(workshop, "*** Update File: a\n@@\n-x\n+y\n*** Add File: b\n+z")
    written = [record for record in workshop.records if record.op == "write"]
    assert [(record.path, record.ok, record.call_id) for record in written] == [
        ("a", True, "call_1"),
        ("b", True, "call_1"),
    ]
    assert written[0].before_sha256 == hashlib.sha256(b"x\n").hexdigest()
    assert written[0].sha256 == hashlib.sha256(b"y\n").hexdigest()


async def test_the_author_is_told_what_was_tolerated(workshop: Workshop) -> None:
    workshop.write("a", "x  \ny\nx\n")
    result = await _patch(workshop, "*** Update File: a\n@@\n x\n-y\n+z")
    assert workshop.contents() == {"a": b"x  \nz\nx\n"}
    assert "[hunk 1 of a: trailing blanks differ from the file, whose blanks are kept]" in result.stdout


def test_events_hold_the_size_and_digest_of_a_patch_and_not_the_patch() -> None:
    patch = enveloped("*** Add File: a\n+secret")
    shown = sanitize(ApplyPatch().spec, {"input": patch})
    assert shown == {"input": {"bytes": len(patch), "sha256": hashlib.sha256(patch.encode()).hexdigest()}}


def test_a_call_that_was_interrupted_is_not_repeated() -> None:
    assert ApplyPatch().spec.effect == "effectful"


async def test_nothing_stays_open(workshop: Workshop) -> None:
    workshop.write("a", "x\n")
    before = count_descriptors()
    await _patch(workshop, "*** Update File: a\n@@\n-x\n+y\n*** Add File: d/b\n+z")
    with pytest.raises(ToolError):
        await _patch(workshop, "*** Update File: a\n@@\n-x\n+y\n*** Add File: d/c\n+z")
    assert count_descriptors() == before
