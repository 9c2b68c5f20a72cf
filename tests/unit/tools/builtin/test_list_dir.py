"""list_dir: order, pages, what is left out and what is never entered."""

import os
from pathlib import Path

import pytest

from skills_runtime.errors import NotFound, PathEscape, ValidationFailed
from skills_runtime.ports import ToolResult
from skills_runtime.runs.files import RunFiles, isolated_policy
from skills_runtime.tools import search as trees
from skills_runtime.tools.builtin import ListDir
from tests.support.tools import Workshop, data_of


def _names(result: ToolResult) -> list[str]:
    return [entry["rel_path"] for entry in data_of(result)["entries"]]


@pytest.fixture
def tree(workshop: Workshop) -> Workshop:
    for name in ("b.txt", "a/one.txt", "a/deep/er/two.txt", ".hidden", ".git/config", "c/.env"):
        workshop.write(name, "x")
    return workshop


async def test_each_directory_stands_before_what_is_in_it(tree: Workshop) -> None:
    result = await tree.call(ListDir(), dir_path=".", depth=10)
    assert _names(result) == ["a", "a/deep", "a/deep/er", "a/deep/er/two.txt", "a/one.txt", "b.txt", "c"]
    assert result.stdout.split("\n")[:3] == ["a/", "a/deep/", "a/deep/er/"]


async def test_two_levels_are_shown_unless_asked_otherwise(tree: Workshop) -> None:
    assert _names(await tree.call(ListDir(), dir_path=".")) == ["a", "a/deep", "a/one.txt", "b.txt", "c"]
    assert _names(await tree.call(ListDir(), dir_path=".", depth=1)) == ["a", "b.txt", "c"]


async def test_names_with_a_dot_are_left_out_and_counted(tree: Workshop) -> None:
    result = await tree.call(ListDir(), dir_path=".")
    assert data_of(result)["hidden"] == 3
    assert "[3 hidden entries are left out]" in result.stdout


async def test_an_entry_says_what_it_is_and_how_to_open_it(tree: Workshop) -> None:
    (tree.root / "a" / "link").symlink_to("one.txt")
    os.mkfifo(tree.root / "a" / "pipe")
    result = await tree.call(ListDir(), dir_path="a", depth=1)
    assert data_of(result)["entries"] == [
        {"rel_path": "deep", "path": "a/deep", "type": "directory"},
        {"rel_path": "link", "path": "a/link", "type": "symlink"},
        {"rel_path": "one.txt", "path": "a/one.txt", "type": "file"},
        {"rel_path": "pipe", "path": "a/pipe", "type": "special"},
    ]


async def test_a_page_tells_the_total_and_how_to_go_on(workshop: Workshop) -> None:
    for number in range(30):
        workshop.write(f"{number:02}", "")
    first = await workshop.call(ListDir(), dir_path=".")
    assert (len(_names(first)), data_of(first)["total"], first.truncated) == (25, 30, True)
    assert "[entries 1 to 25 of 30; continue with offset=26]" in first.stdout
    rest = await workshop.call(ListDir(), dir_path=".", offset=26)
    assert (_names(rest), rest.truncated) == (["25", "26", "27", "28", "29"], False)


async def test_a_page_behind_the_end_is_empty_and_says_so(tree: Workshop) -> None:
    result = await tree.call(ListDir(), dir_path=".", offset=100)
    assert (_names(result), data_of(result)["total"]) == ([], 5)
    assert "[no entry 100 of 5]" in result.stdout


async def test_an_empty_directory_is_empty(workshop: Workshop) -> None:
    assert (await workshop.call(ListDir(), dir_path=".")).stdout == "[nothing to show]"


async def test_links_to_directories_are_not_entered(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("x")
    (workshop.root / "link").symlink_to(tmp_path / "outside")
    (workshop.root / "loop").symlink_to(".")
    assert _names(await workshop.call(ListDir(), dir_path=".", depth=9)) == ["link", "loop"]


async def test_a_private_directory_is_not_entered_and_counted(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    workshop.files = RunFiles(isolated_policy(tmp_path / "run"), workshop.records.append)
    result = await workshop.call(ListDir(), dir_path=".")
    assert "blobs" in _names(result)
    assert data_of(result)["refused"] == 2


async def test_a_walk_is_bounded_and_says_so(tree: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MAX_ENTRIES", 3)
    result = await tree.call(ListDir(), dir_path=".")
    assert (data_of(result)["total"], data_of(result)["complete"], result.truncated) == (3, False, True)


async def test_only_so_many_directories_are_entered(tree: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MAX_DIRECTORIES", 2)
    result = await tree.call(ListDir(), dir_path=".", depth=9)
    assert _names(result) == ["a", "a/deep", "a/one.txt", "b.txt", "c"]
    assert data_of(result)["complete"] is False


async def test_a_name_cannot_pretend_to_be_two_lines(workshop: Workshop) -> None:
    workshop.write("a\nb", "x")
    result = await workshop.call(ListDir(), dir_path=".")
    assert (result.stdout, _names(result)) == ("a\\x0ab", ["a\nb"])


@pytest.mark.parametrize(
    ("path", "error"), [("nothing", NotFound), ("..", PathEscape), ("b.txt", ValidationFailed), ("", ValidationFailed)]
)
async def test_what_cannot_be_listed_is_refused(path: str, error: type[Exception], tree: Workshop) -> None:
    with pytest.raises(error):
        await tree.call(ListDir(), dir_path=path)
