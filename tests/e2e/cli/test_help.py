"""The help pages: two examples first, and examples that can be typed."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from skills_runtime import __version__
from skills_runtime.cli.main import NAMES, build
from skills_runtime.cli.program import FIRST_COMMANDS
from tests.e2e.cli.programs import invoke

HEAVY = {
    "pydantic", "openai", "asyncio", "yaml", "fastapi", "uvicorn", "skills_runtime.agent", "skills_runtime.config",
    "skills_runtime.engine", "skills_runtime.processes", "skills_runtime.runs", "skills_runtime.safety",
    "skills_runtime.sandbox", "skills_runtime.service",
}  # fmt: skip
RENDERING = {"rich", "msgspec", "skills_runtime.events"}


def _pages(command: Any, *path: str) -> Iterator[tuple[str, ...]]:
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from _pages(inner, *path, name)


PAGES = list(_pages(get_command(build())))


def test_no_command_is_lost() -> None:
    # A new one is pinned by `docs/reference/cli.md`, which another test compares with the program.
    assert {" ".join(page) for page in PAGES} >= {
        "", "demo", "run", "chat", "ls", "verify", "transcript", "runs", "runs list", "runs show", "runs tail",
        "runs verify", "runs transcript", "runs open", "runs delete", "runs prune", "completion", "runs export",
        "runs metrics", "runs send", "runs answer", "runs cancel", "runs review", "runs review approve",
        "runs review revise", "runs resume", "runs fork", "runs replay", "runs diff",
        "approvals", "approvals list", "approvals show", "approvals approve", "approvals deny",
        "doctor", "config", "config show", "config set", "policy", "policy check", "policy explain",
        "ledger", "ledger rebuild",
        "sandbox", "sandbox doctor", "sandbox exec", "sandbox plan",
        "skills", "skills validate", "skills show", "skills new", "skills route", "skills list",
        "skills trust", "skills eval", "skills install", "skills update", "skills remove", "skills rollback",
        "skills lock", "skills verify", "skills preflight", "skills validate-config", "skills scan",
        "skills exec", "serve", "studio", "keys", "keys create", "keys list", "keys revoke",
        "runtime", "runtime status", "runtime stop", "runtime cleanup",
    }  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_a_page_begins_with_a_sentence_and_two_examples(page: tuple[str, ...]) -> None:
    answer = invoke(*page, "--help")
    assert (answer.code, answer.err) == (0, "")
    sentence, _, heading, *examples = answer.out.splitlines()[:5]
    assert sentence.endswith(".")
    assert heading == "Examples:"
    assert all(example.startswith("  kgent ") for example in examples)
    blank, usage = answer.out.splitlines()[5:7]
    assert blank == ""
    assert usage.startswith(f"Usage: {' '.join(('kgent', *page))} [OPTIONS]")


@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_the_examples_of_a_page_are_command_lines_of_the_program(page: tuple[str, ...]) -> None:
    for example in invoke(*page, "--help").out.splitlines()[3:5]:
        command, words = get_command(build()), shlex.split(example)[1:]
        while hasattr(command, "commands"):
            command = getattr(command, "commands")[words.pop(0)]  # noqa: B009 - not every command has them
        command.make_context("example", words, resilient_parsing=True)


def test_the_first_page_shows_the_commands_of_every_day_first_and_hides_old_names() -> None:
    page = invoke("--help").out
    commands, _, advanced = page.partition("\nCommands:\n")[2].partition("\nAdvanced:\n")
    first = [line.split()[0] for line in commands.splitlines() if re.match(r"  \w", line)]
    others = [line.split()[0] for line in advanced.splitlines() if re.match(r"  \w", line)]
    assert first == [name for name in FIRST_COMMANDS if name in first]
    assert {"run", "chat", "studio", "skills", "runs", "approvals"} <= set(first)
    assert {"demo", "serve", "config", "policy", "completion"} <= set(others)
    assert {"ls", "verify", "transcript", "completion-words"}.isdisjoint({*first, *others})


@pytest.mark.parametrize("page", [page for page in PAGES if len(page) < 2], ids=" ".join)
def test_no_summary_is_cut(page: tuple[str, ...]) -> None:
    answer = invoke(*page, "--help")
    assert "..." not in answer.out.partition("Commands:")[2]


@pytest.mark.parametrize("name", NAMES)
def test_examples_use_the_name_the_program_was_called_by(name: str) -> None:
    assert f"  {name} demo\n" in invoke("--help", name=name).out


def test_a_program_called_without_anything_shows_its_page_and_exits_2() -> None:
    answer = invoke()
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == invoke("--help").out


def test_the_version_is_that_of_the_package() -> None:
    assert invoke("--version") == (0, f"{__version__}\n", "")


def _imported(lines: tuple[str, ...], heavy: set[str]) -> str:
    """The exit codes of some command lines in one process, and what of the heavy modules it imported."""
    code = (
        "import sys; from skills_runtime.cli.main import run_program\n"
        f"codes = [run_program(line.split()) for line in {lines!r}]\n"
        f"sys.exit(repr(codes + sorted({heavy!r} & set(sys.modules))))"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr


def test_the_version_imports_no_command() -> None:
    assert _imported(("--version",), HEAVY | RENDERING) == "[0]\n"


def test_a_usage_error_imports_no_configuration() -> None:
    heavy = HEAVY - {"skills_runtime.config"} | {"skills_runtime.config.environment", "skills_runtime.config.models"}
    assert _imported(("run --no-such-option",), heavy).endswith("\n[2]\n")


def test_help_imports_nothing_that_only_a_run_needs() -> None:
    pages = ("--help", "run --help", "runs list --help", *(f"{page[0]} --help" for page in PAGES if page))
    assert _imported(pages, HEAVY) == f"{[0] * len(pages)}\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("sandbox diff 4f1c", "`sandbox diff` was removed: run the command in a copy of the workspace"),
        ("sandbox commit 4f1c --force", "`sandbox commit` was removed: run the command in a copy of the workspace"),
        ("sandbox discard 4f1c", "`sandbox discard` was removed: run the command in a copy of the workspace"),
        ("sandbox exec --overlay -- true", "`--overlay` was removed: copy the workspace"),
    ],
)
def test_what_was_removed_says_what_to_use_instead(words: str, sentence: str) -> None:
    answer = invoke(*words.split())
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"error: {sentence}")
    assert "  kind: usage\n" in answer.err
