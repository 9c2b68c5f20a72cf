"""grep_files: what is found, what is left alone, and that nothing makes it hang."""

import asyncio
import random
from pathlib import Path

import pytest

from skills_runtime.errors import NotFound, PathEscape, ToolError
from skills_runtime.ports import ToolResult
from skills_runtime.tools import search as trees
from skills_runtime.tools.builtin import GrepFiles, grep_files
from tests.support.tools import Workshop, data_of


async def _grep(workshop: Workshop, pattern: str, **arguments: object) -> ToolResult:
    return await workshop.call(GrepFiles(), pattern=pattern, **arguments)


async def _files(workshop: Workshop, pattern: str = "x", **arguments: object) -> list[str]:
    return data_of(await _grep(workshop, pattern, **arguments))["files"]


async def test_files_and_lines_are_found(workshop: Workshop) -> None:
    workshop.write("a.py", "one\ntwo\nthree two\n")
    workshop.write("b/c.py", "two")
    workshop.write("d.py", "four\n")
    result = await _grep(workshop, "two")
    assert result.stdout == "a.py:2: two\na.py:3: three two\nb/c.py:1: two"
    assert data_of(result)["files"] == ["a.py", "b/c.py"]
    assert data_of(result)["matches"][-1] == {"path": "b/c.py", "line": 1}
    assert (data_of(result)["searched"], data_of(result)["complete"], result.truncated) == (3, True, False)


async def test_nothing_found_is_an_answer(workshop: Workshop) -> None:
    workshop.write("a", "x")
    result = await _grep(workshop, "y")
    assert (result.ok, result.stdout, data_of(result)["files"]) == (True, "nothing matches", [])


@pytest.mark.parametrize("pattern", ["^b$", "^b", "b$", r"\bb\b"])
async def test_anchors_mean_lines_whatever_ends_them(pattern: str, workshop: Workshop) -> None:
    workshop.write("f", "ab\r\nb\r\nbc\r\n")
    assert {"path": "f", "line": 2} in data_of(await _grep(workshop, pattern))["matches"]


@pytest.mark.parametrize("pattern", [r"a\nb", r"a\s+b", r"a[^x]b", r"(?s)a.b"])
async def test_a_match_never_spans_lines(pattern: str, workshop: Workshop) -> None:
    workshop.write("f", "a\nb\n")
    assert await _files(workshop, pattern) == []


@pytest.mark.parametrize("pattern", ["^", "$", "x*", "()"])
async def test_a_pattern_that_matches_nothing_at_all_gives_each_line_once(pattern: str, workshop: Workshop) -> None:
    workshop.write("f", "a\n\nb\n")
    lines = [match["line"] for match in data_of(await _grep(workshop, pattern))["matches"]]
    assert lines == [1, 2, 3]


async def test_a_path_is_searched_alone(workshop: Workshop) -> None:
    for name in ("src/a", "src/b/c", "other"):
        workshop.write(name, "x")
    assert await _files(workshop, path="src") == ["src/a", "src/b/c"]
    assert await _files(workshop, path="./src//b/") == ["src/b/c"]
    assert await _files(workshop, path="src/a") == ["src/a"]
    assert await _files(workshop, path=str(workshop.root / "src" / "b")) == [str(workshop.root / "src" / "b" / "c")]


@pytest.mark.parametrize(
    ("include", "found"),
    [
        ("*.py", ["a.py", "src/b.py"]),
        ("src/*", ["src/b.py", "src/c.ts"]),
        ("*.{ts,md}", ["d.md", "src/c.ts"]),
        ("!*.py", ["d.md", "src/c.ts"]),
        ("{a,d}.{py,md}", ["a.py", "d.md"]),
        ("nothing", []),
    ],
)
async def test_only_files_that_are_included_are_searched(include: str, found: list[str], workshop: Workshop) -> None:
    for name in ("a.py", "src/b.py", "src/c.ts", "d.md"):
        workshop.write(name, "x")
    assert await _files(workshop, include=include) == found


async def test_a_pattern_for_paths_that_is_none_is_refused(workshop: Workshop) -> None:
    with pytest.raises(ToolError, match="not a pattern for paths"):
        await _grep(workshop, "x", include="\\")


async def test_ignored_files_are_left_alone_and_counted(workshop: Workshop) -> None:
    workshop.write(".gitignore", "build/\n*.log\n!keep.log\n")
    workshop.write("src/.gitignore", "/only-here\n")
    for name in ("build/a", "a.log", "keep.log", "src/only-here", "src/deep/only-here", "src/b.log"):
        workshop.write(name, "x")
    result = await _grep(workshop, "x")
    assert data_of(result)["files"] == ["keep.log", "src/deep/only-here"]
    assert data_of(result)["skipped"] == {"hidden": 2, "ignored": 4}
    assert "[not searched: 2 hidden, 4 ignored]" in result.stdout


async def test_the_rules_above_the_path_hold_below_it(workshop: Workshop) -> None:
    workshop.write(".gitignore", "*.log\n")
    workshop.write("src/.gitignore", "*.tmp\n")
    for name in ("src/in/a.log", "src/in/a.tmp", "src/in/a.txt"):
        workshop.write(name, "x")
    assert await _files(workshop, path="src/in") == ["src/in/a.txt"]


async def test_an_ignored_place_is_searched_when_it_is_named(workshop: Workshop) -> None:
    workshop.write(".gitignore", "build/\n")
    workshop.write("build/a", "x")
    assert await _files(workshop, path="build") == ["build/a"]


async def test_hidden_files_are_searched_only_when_named(workshop: Workshop) -> None:
    workshop.write(".config/a", "x")
    assert await _files(workshop) == []
    assert await _files(workshop, path=".config") == [".config/a"]


async def test_binary_files_are_left_alone_and_counted(workshop: Workshop) -> None:
    workshop.write("b", b"x\0y")
    workshop.write("t", b"x\xff\n")
    result = await _grep(workshop, "x")
    assert (data_of(result)["files"], data_of(result)["skipped"]) == (["t"], {"binary": 1})


async def test_no_link_is_followed(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("x")
    (workshop.root / "file").symlink_to(tmp_path / "outside" / "secret")
    (workshop.root / "directory").symlink_to(tmp_path / "outside")
    assert await _files(workshop) == []


async def test_a_link_that_leads_out_is_refused_when_named(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (workshop.root / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(PathEscape):
        await _files(workshop, path="link")


async def test_secrets_are_not_searched_even_when_their_directory_is(workshop: Workshop) -> None:
    workshop.write("a/.env", "x")
    workshop.write("a/.env.local", "x")
    assert await _files(workshop, path="a") == []


async def test_a_missing_path_is_not_found(workshop: Workshop) -> None:
    with pytest.raises(NotFound):
        await _grep(workshop, "x", path="nothing")


@pytest.mark.parametrize("pattern", ["a(?=b)", r"(a)\1", "(", "[", "*", "a{1001}", "(((a{100}){100}){100})"])
async def test_a_pattern_the_engine_does_not_take_is_refused_with_a_hint(pattern: str, workshop: Workshop) -> None:
    with pytest.raises(ToolError) as caught:
        await _grep(workshop, pattern)
    assert caught.value.kind == "validation"
    assert caught.value.hint


async def test_so_many_files_as_the_limit_are_named_with_a_note(workshop: Workshop) -> None:
    for number in range(5):
        workshop.write(f"{number}", "x")
    result = await _grep(workshop, "x", limit=3)
    assert data_of(result)["files"] == ["0", "1", "2"]
    assert (data_of(result)["complete"], result.truncated) == (False, True)
    assert "[3 files match, and there may be more:" in result.stdout


async def test_as_many_files_as_the_limit_and_no_more_are_complete(workshop: Workshop) -> None:
    workshop.write("a", "x")
    assert data_of(await _grep(workshop, "x", limit=1))["complete"] is True


async def test_of_a_file_with_many_matches_some_are_shown_with_a_note(workshop: Workshop) -> None:
    workshop.write("f", "x\n" * 100)
    result = await _grep(workshop, "x")
    assert len(data_of(result)["matches"]) == grep_files.MAX_LINES_PER_FILE
    assert "[1 files have more matching lines than are shown]" in result.stdout


async def test_a_long_line_is_cut_with_a_mark(workshop: Workshop) -> None:
    workshop.write("f", "x" * 310)
    assert (await _grep(workshop, "x")).stdout == "f:1: " + "x" * 300 + "… [10 more]"


@pytest.mark.parametrize("name", ["MAX_FILES", "MAX_TOTAL_BYTES", "MAX_LINES"])
async def test_a_search_is_bounded_and_says_so(name: str, workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grep_files, name, 1)
    workshop.write("a", "x")
    workshop.write("b", "x")
    result = await _grep(workshop, "x")
    assert data_of(result)["files"] == ["a"]
    assert "the search stopped after 1 files" in result.stdout


async def test_the_end_of_a_large_file_is_not_searched_with_a_note(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grep_files, "MAX_FILE_BYTES", 4)
    workshop.write("f", "x\na\nx\n")
    result = await _grep(workshop, "x")
    assert len(data_of(result)["matches"]) == 1
    assert "so only their start was searched" in result.stdout


async def test_too_many_directories_are_reported(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MAX_DIRECTORIES", 1)
    workshop.write("d/f", "x")
    assert data_of(await _grep(workshop, "x"))["complete"] is False


async def test_a_pattern_that_makes_others_hang_is_answered_at_once(workshop: Workshop) -> None:
    workshop.write("f", "a" * 100_000 + "!\n")
    async with asyncio.timeout(20):
        assert await _files(workshop, r"^(a+)+$") == []
        assert await _files(workshop, r"(a|a)*b|(a*)*c|(.*)*d") == []


async def test_the_costliest_pattern_ends_with_its_time_and_lets_others_work(workshop: Workshop) -> None:
    letters = random.Random(1).choices("ab", k=1 << 20)
    workshop.write("f", "".join(letters))
    workshop.write("g", "\n".join("".join(letters[i : i + 2000]) for i in range(0, 1 << 20, 2000)))
    others = 0

    async def count() -> None:
        nonlocal others
        while True:
            others += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    result = await workshop.call(GrepFiles(max_seconds=0.2), pattern="(a[ab]{1,31}){1,31}c")
    counting.cancel()
    assert data_of(result)["complete"] is False
    assert "the search stopped after 0.2 seconds" in result.stdout
    assert others > 0


async def test_hostile_rules_of_a_project_do_not_make_it_hang(workshop: Workshop) -> None:
    workshop.write(".gitignore", "*a*a*a*a*a*a*a*a*a*a*a*a*b\n" * 50 + "[z-a]\n[\n\\\n**/**/**/**/**/x\n")
    workshop.write("a" * 200, "x")
    async with asyncio.timeout(20):
        assert await _files(workshop) == ["a" * 200]
