"""Shell completion: the scripts, and the words they offer."""

import shutil
import subprocess

import pytest

from tests.e2e.cli.programs import environment, invoke
from tests.e2e.cli.test_bad_input import assert_refused


def words(*line: str) -> list[str]:
    answer = invoke("completion-words", "--", *line)
    assert (answer.code, answer.err) == (0, "")
    return answer.out.split()


def test_commands_options_and_the_last_run_are_offered() -> None:
    assert words("r") == ["run", "runs", "runtime"]
    assert words("runs", "t") == ["tail", "transcript"]
    assert words("runs", "show", "") == ["last"]
    assert words("run", "--run") == ["--run-dir", "--run-id"]
    assert words("nothing", "--no") == []


def test_what_help_does_not_show_is_not_offered() -> None:
    assert {"ls", "verify", "transcript", "completion-words"}.isdisjoint(words())
    assert "--sandbox" not in words("run", "--s")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_completes_every_name_of_the_program(shell: str) -> None:
    answer = invoke("completion", shell)
    assert (answer.code, answer.err) == (0, "")
    assert all(name in answer.out for name in ("skills-runtime", "skills-runtime-sdk", "kgent", "completion-words"))


def test_another_shell_is_refused() -> None:
    assert_refused(invoke("completion", "csh"), 2, "usage")


def test_bash_completes_with_the_script() -> None:
    assert shutil.which("bash")
    line = (
        'eval "$(skills-runtime completion bash)"; COMP_WORDS=(skills-runtime runs tr); COMP_CWORD=2; '
        '_skills_runtime skills-runtime; echo "${COMPREPLY[@]}"; complete -p kgent'
    )
    done = subprocess.run(["bash", "-c", line], env=environment(), capture_output=True, check=True, text=True)
    assert done.stdout.splitlines() == ["transcript", "complete -o default -F _skills_runtime kgent"]
