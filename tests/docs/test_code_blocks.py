"""What the pages show works: their Python and shell examples run as written.

A `python` fence runs; `python no-run` must at least compile. A `bash` fence is for reading; `bash run` runs.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.checkouts import Fence, fences_of, pages, run_bash, run_python

KNOWN = {"python": {"python", "python no-run"}, "bash": {"bash", "bash run"}}

every_page = pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))


def _failures(
    page: Path, info: str, run: Callable[..., subprocess.CompletedProcess[str]], place: Path
) -> list[tuple[str, int, str]]:
    fences = [fence for fence in fences_of(page) if fence.info == info]
    answers = [(fence, run(fence.code, place=place / str(fence.line))) for fence in fences]
    return [(fence.location, answer.returncode, answer.stderr) for fence, answer in answers if answer.returncode != 0]


@every_page
def test_every_python_example_runs_in_an_empty_workspace(page: Path, tmp_path: Path) -> None:
    assert not _failures(page, "python", run_python, tmp_path)


@every_page
def test_every_shell_example_marked_run_runs_in_an_empty_directory(page: Path, tmp_path: Path) -> None:
    assert not _failures(page, "bash run", run_bash, tmp_path)


@every_page
def test_python_that_is_not_run_compiles(page: Path) -> None:
    for fence in fences_of(page):
        if fence.info == "python no-run":
            compile(fence.code, fence.location, "exec")


@every_page
def test_every_fence_is_marked_in_a_way_these_tests_know(page: Path) -> None:
    assert not [
        (fence.location, fence.info)
        for fence in fences_of(page)
        if fence.language in KNOWN and fence.info not in KNOWN[fence.language]
    ]


def _commands(fence: Fence) -> list[str]:
    """The commands of a fence without prompts and comments."""
    lines = [line.partition(" #")[0].strip().removeprefix("$ ") for line in fence.code.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize(
    "page", [page for page in pages() if page.name.startswith("README")], ids=lambda page: page.name
)
def test_the_first_two_commands_of_the_readme_do_all_the_set_up(page: Path) -> None:
    commands = [command for fence in fences_of(page) for command in _commands(fence)]
    assert commands[:2] == ["make demo", "make test"]


def _page(tmp_path: Path, text: str) -> Path:
    page = tmp_path / "page.md"
    page.write_text(text)
    return page


def test_fences_are_found_with_their_line_and_without_their_indentation(tmp_path: Path) -> None:
    page = _page(
        tmp_path,
        "# Title\n\n- item\n\n  ```python  no-run\n  if x:\n      y\n\n  ```\n\n````md\n```python\n```\n````\n",
    )
    assert list(fences_of(page)) == [
        Fence(page, 5, "python no-run", "if x:\n    y\n\n"),
        Fence(page, 11, "md", "```python\n```\n"),
    ]


def test_an_example_that_fails_is_named_with_its_line_and_its_error(tmp_path: Path) -> None:
    page = _page(tmp_path, "```python\nprint('fine')\n```\n\n```python\nraise SystemExit('broken')\n```\n")
    assert _failures(page, "python", run_python, tmp_path) == [(f"{page}:5", 1, "broken\n")]


def test_shell_examples_end_at_the_first_command_that_fails(tmp_path: Path) -> None:
    page = _page(tmp_path, "```bash run\nfalse | true\ntouch ../../reached\n```\n")
    assert [code for _, code, _ in _failures(page, "bash run", run_bash, tmp_path / "runs")] == [1]
    assert not (tmp_path / "runs" / "reached").exists()


def test_examples_start_in_an_empty_directory_with_the_commands_of_this_package(tmp_path: Path) -> None:
    answer = run_bash("ls -A\ncommand -v skills-runtime", directory=tmp_path / "run")
    assert answer.returncode == 0, answer.stderr
    assert len(answer.stdout.splitlines()) == 1
