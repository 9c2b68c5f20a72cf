"""The Python and shell examples of the documentation run as written.

A `python` block runs; a `python no-run` block must compile. A `bash` block is not run; a `bash run` block is.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.checkouts import Fence, fences_of, pages, run_bash, run_python

ALLOWED_INFO = {"python": {"python", "python no-run"}, "bash": {"bash", "bash run"}}

every_page = pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))


def _failures(
    page: Path, info: str, run: Callable[..., subprocess.CompletedProcess[str]], directory: Path
) -> list[tuple[str, int, str]]:
    fences = [fence for fence in fences_of(page) if fence.info == info]
    results = [(fence, run(fence.code, directory=directory / str(fence.line))) for fence in fences]
    return [(fence.location, result.returncode, result.stderr) for fence, result in results if result.returncode != 0]


@every_page
def test_python_examples_run_in_an_empty_workspace(page: Path, tmp_path: Path) -> None:
    assert not _failures(page, "python", run_python, tmp_path)


@every_page
def test_shell_examples_marked_run_succeed_in_an_empty_directory(page: Path, tmp_path: Path) -> None:
    assert not _failures(page, "bash run", run_bash, tmp_path)


@every_page
def test_python_examples_that_are_not_run_compile(page: Path) -> None:
    for fence in fences_of(page):
        if fence.info == "python no-run":
            compile(fence.code, fence.location, "exec")


@every_page
def test_code_blocks_have_a_known_info_string(page: Path) -> None:
    assert not [
        (fence.location, fence.info)
        for fence in fences_of(page)
        if fence.language in ALLOWED_INFO and fence.info not in ALLOWED_INFO[fence.language]
    ]


def _commands(fence: Fence) -> list[str]:
    """Return the commands of a block without prompts and comments."""
    lines = [line.partition(" #")[0].strip().removeprefix("$ ") for line in fence.code.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize(
    "page", [page for page in pages() if page.name.startswith("README")], ids=lambda page: page.name
)
def test_readme_starts_with_make_demo_and_make_test(page: Path) -> None:
    commands = [command for fence in fences_of(page) for command in _commands(fence)]
    assert commands[:2] == ["make demo", "make test"]


def _page(tmp_path: Path, text: str) -> Path:
    page = tmp_path / "page.md"
    page.write_text(text)
    return page


def test_code_blocks_have_their_line_and_no_indentation(tmp_path: Path) -> None:
    page = _page(
        tmp_path,
        "# Title\n\n- item\n\n  ```python  no-run\n  if x:\n      y\n\n  ```\n\n````md\n```python\n```\n````\n",
    )
    assert list(fences_of(page)) == [
        Fence(page, 5, "python no-run", "if x:\n    y\n\n"),
        Fence(page, 11, "md", "```python\n```\n"),
    ]


def test_failing_example_is_reported_with_line_and_error(tmp_path: Path) -> None:
    page = _page(tmp_path, "```python\nprint('fine')\n```\n\n```python\nraise SystemExit('broken')\n```\n")
    assert _failures(page, "python", run_python, tmp_path) == [(f"{page}:5", 1, "broken\n")]


def test_shell_examples_stop_at_the_first_failing_command(tmp_path: Path) -> None:
    page = _page(tmp_path, "```bash run\nfalse | true\ntouch ../../reached\n```\n")
    assert [code for _, code, _ in _failures(page, "bash run", run_bash, tmp_path / "runs")] == [1]
    assert not (tmp_path / "runs" / "reached").exists()


def test_examples_start_in_an_empty_directory_with_our_commands_on_path(tmp_path: Path) -> None:
    result = run_bash("ls -A\ncommand -v skills-runtime", directory=tmp_path / "run")
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 1
