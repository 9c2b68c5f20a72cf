"""The Python and shell examples of the documentation run as written, with a model on this machine.

| block | what the tests do |
|---|---|
| `python`, `bash run` | run it in an empty workspace |
| `bash run fails` | the same; it must fail |
| `text output` | compare it with what the block before it printed; `…` stands for any text of a line |
| `python no-run` | compile it |
| `bash walk`, `python file=NAME` | `tests/e2e/first_hour` runs it as a part of its page |
| `bash` | nothing |
"""

import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.e2e.first_hour.walks import WALKED
from tests.support import ROOT, documented_model
from tests.support.checkouts import Fence, fences_of, pages, run_bash, run_python
from tests.support.model_server import ModelServer

RUNNERS = {"python": run_python, "bash run": run_bash, "bash run fails": run_bash}
ALLOWED_INFO = {"python": {"python", "python no-run"}, "bash": {"bash", "bash run", "bash run fails"}}
FIRST_DAY = ("README", "docs/tutorial", "docs/how-to/python", "docs/concepts/security")
"""Pages whose every block runs."""

every_page = pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
every_translation = pytest.mark.parametrize(
    "page", [page for page in pages() if page.name.endswith(".zh-CN.md")], ids=lambda page: str(page.relative_to(ROOT))
)


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with documented_model.start() as server:
        yield server


@pytest.fixture(autouse=True)
def configured_model(model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader has a model; examples name it nowhere."""
    monkeypatch.setenv("OPENAI_API_KEY", documented_model.KEY)
    monkeypatch.setenv("SKILLS_RUNTIME_SDK_LLM_BASE_URL", model.base_url)
    monkeypatch.setenv("SKILLS_RUNTIME_SDK_PLANNER_MODEL", documented_model.MODELS[0])
    monkeypatch.setenv("SKILLS_RUNTIME_SDK_EXECUTOR_MODEL", documented_model.MODELS[0])
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def _failures(page: Path, language: str, directory: Path) -> list[str]:
    """Run the blocks of a page, and describe those that ended or printed otherwise than the page shows."""
    failures: list[str] = []
    fences = [*fences_of(page), Fence(page, 0, "", "")]
    for fence, following in pairwise(fences):
        if fence.language != language or fence.info not in RUNNERS:
            continue
        result = RUNNERS[fence.info](fence.code, directory=directory / str(fence.line))
        if (result.returncode != 0) != fence.info.endswith("fails"):
            failures.append(f"{fence.location} ended with {result.returncode}: {result.stderr}")
        if following.info == "text output" and not _matches(following.code, _printed(result)):
            failures.append(f"{following.location} is not what was printed: {_printed(result)}")
    return failures


def _printed(result: subprocess.CompletedProcess[str]) -> str:
    return result.stdout + result.stderr


def _matches(shown: str, printed: str) -> bool:
    """Return whether each shown line was printed, in this order; a line of only `…` stands for any lines."""
    lines = (re.escape(line.strip()).replace("…", ".*") for line in shown.splitlines() if line.strip() != "…")
    return re.search(r"\n(?:.*\n)*?\s*".join(lines), printed) is not None


@every_page
def test_python_examples_run_in_an_empty_workspace(page: Path, tmp_path: Path) -> None:
    assert not _failures(page, "python", tmp_path)


@every_page
def test_shell_examples_end_and_print_as_shown_in_an_empty_directory(page: Path, tmp_path: Path) -> None:
    assert not _failures(page, "bash", tmp_path)


@every_page
def test_python_examples_that_are_not_run_compile(page: Path) -> None:
    for fence in fences_of(page):
        if fence.language == "python" and fence.info != "python":
            compile(fence.code, fence.location, "exec")


@every_page
def test_code_blocks_have_a_known_info_string(page: Path) -> None:
    fences = list(fences_of(page))
    assert not [
        (fence.location, fence.info)
        for fence in fences
        if fence.language in ALLOWED_INFO
        and fence.info not in ALLOWED_INFO[fence.language]
        and not WALKED.fullmatch(fence.info)
    ]
    assert not [
        second.location
        for first, second in pairwise([Fence(page, 0, "", ""), *fences])
        if second.info == "text output" and first.info not in RUNNERS
    ]


@pytest.mark.parametrize("name", FIRST_DAY)
def test_pages_of_the_first_day_have_only_blocks_that_run(name: str) -> None:
    fences = list(fences_of(ROOT / f"{name}.md"))
    assert not [fence.location for fence in fences if fence.info in ("bash", "sh", "shell", "console")]


@every_translation
def test_translations_have_the_blocks_of_the_english_page(page: Path) -> None:
    english = page.with_name(page.name.replace(".zh-CN", ""))
    blocks, translated = list(fences_of(english)), list(fences_of(page))
    assert [fence.info for fence in translated] == [fence.info for fence in blocks]
    assert [_skeleton(fence) for fence in translated] == [_skeleton(fence) for fence in blocks]


def _skeleton(fence: Fence) -> list[str]:
    """Return the lines of commands without texts, comments and non-Latin letters, which are translated."""
    if fence.language not in ("bash", "python"):
        return []
    return [re.sub(r"""\"[^"]*"|'[^']*'|\s#.*|allow\?.*""", "", line).rstrip() for line in fence.code.splitlines()]


@every_translation
def test_translations_and_originals_link_to_each_other(page: Path) -> None:
    english = page.with_name(page.name.replace(".zh-CN", ""))
    assert f"[English]({english.name})" in page.read_text(encoding="utf-8")
    assert f"[中文]({page.name})" in english.read_text(encoding="utf-8")


@every_translation
def test_translations_link_to_chinese_pages_where_they_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"\]\(([^)#:]+)\.md[)#]", text):
        target = page.parent / f"{name}.zh-CN.md"
        assert name.endswith(".zh-CN") or not target.exists() or f"[English]({name}.md)" in text, (
            f"{name}.md has a Chinese version"
        )


def _commands(fence: Fence) -> list[str]:
    """Return the commands of a block without prompts and comments."""
    lines = [line.partition(" #")[0].strip().removeprefix("$ ") for line in fence.code.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_readme_starts_with_getting_and_installing_it(name: str) -> None:
    commands = [command for fence in fences_of(ROOT / name) for command in _commands(fence)]
    assert commands[:3] == ["git clone URL skills-runtime", "cd skills-runtime", "make install"]
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "`make demo`" in text
    assert "`make test`" in text


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
    assert _failures(page, "python", tmp_path) == [f"{page}:5 ended with 1: broken\n"]


def test_shown_output_is_compared_with_what_was_printed(tmp_path: Path) -> None:
    page = _page(tmp_path, "```bash run fails\necho 12 lines; echo no >&2; exit 3\n```\n\n```text output\n{}\n```\n")
    page.write_text(page.read_text().format("… lines\nno"))
    assert not _failures(page, "bash", tmp_path / "first")
    page.write_text(page.read_text().replace("\nno\n", "\nyes\n"))
    assert _failures(page, "bash", tmp_path / "second") == [f"{page}:5 is not what was printed: 12 lines\nno\n"]


def test_shell_examples_stop_at_the_first_failing_command(tmp_path: Path) -> None:
    page = _page(tmp_path, "```bash run\nfalse | true\ntouch ../../reached\n```\n")
    assert _failures(page, "bash", tmp_path / "runs") == [f"{page}:1 ended with 1: "]
    assert not (tmp_path / "runs" / "reached").exists()


def test_examples_start_in_an_empty_directory_with_our_commands_on_path(tmp_path: Path) -> None:
    result = run_bash("ls -A\ncommand -v skills-runtime", directory=tmp_path / "run")
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 1
