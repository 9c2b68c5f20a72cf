"""The terminal that walks a page: exit codes, questions, jobs; and the blocks it is given."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.first_hour.shells import CTRL_C, CommandFailed, Shell, open_shell
from tests.e2e.first_hour.walks import Step, steps_of


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with open_shell({"PATH": os.environ["PATH"], "HOME": str(tmp_path)}, tmp_path) as shell:
        yield shell


def test_lines_keep_the_state_of_the_shell(shell: Shell, tmp_path: Path) -> None:
    shell.run("mkdir a\ncd a\ncat > file <<'END'\nfirst\n\n  last\nEND\n", {})
    assert shell.run("cat file\necho one \\\n  two\n", {}) == "first\n\n  last\none two\n"
    assert (tmp_path / "a" / "file").exists()


def test_command_that_ends_otherwise_than_expected_is_reported_with_its_output(shell: Shell) -> None:
    with pytest.raises(CommandFailed, match="`echo why; false` ended with 1:\nwhy"):
        shell.run("echo why; false", {})
    with pytest.raises(CommandFailed, match="`true` ended with 0"):
        shell.run("true", {}, fails=True)
    assert shell.run("false", {}, fails=True) == ""


def test_question_is_answered_when_it_is_asked(shell: Shell) -> None:
    def answer(shell: Shell) -> None:
        assert shell.expect("name? ", "never") == "name? "
        shell.type("bob\n")

    assert shell.run("read -p 'name? ' NAME; echo hello $NAME", {"^read": answer}) == "name? hello bob\n"


def test_question_that_is_never_asked_is_reported(shell: Shell) -> None:
    with pytest.raises(CommandFailed, match="never came:\nno question"):
        shell.run("echo no question", {"echo": lambda shell: shell.expect("name? ")})


def test_job_in_the_background_is_killed_by_its_number(shell: Shell) -> None:
    shell.run("(echo started; exec sleep 1000) &", {"&$": lambda shell: shell.watch("started")})
    assert "Running" in shell.run("jobs", {})
    shell.run("kill -9 %1\nwait %1 || test $? -eq 137", {})
    assert shell.run("jobs -r", {}) == ""


def test_interrupt_ends_the_command_in_front(shell: Shell) -> None:
    shell.start("cat")
    shell.type("heard\n")
    shell.expect("heard")
    shell.type(CTRL_C)
    assert shell.wait() == 130


def test_marked_blocks_of_a_page_are_its_steps(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    blocks = ("bash walk\na", "bash\nno", "bash walk 2\nb", "bash walk fails\nc", "python file=agent.py\nd", "text\nno")
    page.write_text("".join(f"```{block}\n```\n" for block in blocks))
    assert list(steps_of(page)) == [
        Step(f"{page}:1", "a\n"),
        Step(f"{page}:7", "b\n", terminal=2),
        Step(f"{page}:10", "c\n", fails=True),
        Step(f"{page}:13", "d\n", file="agent.py"),
    ]
