"""The edge of the process: closed streams, and what to type to call the program again."""

import subprocess
import sys
from pathlib import Path

import pytest

from skills_runtime.cli.main import find_call

CODE = """
import os, sys
from skills_runtime.cli.main import open_missing_streams
open_missing_streams()
print("out"); print("err", file=sys.stderr); sys.stdout.flush()
read = sys.stdin.read()
next_one = os.open("/dev/null", os.O_RDONLY)
os._exit(0 if next_one > 2 and read == "" and all(os.get_inheritable(number) for number in range(3)) else 1)
"""


@pytest.mark.parametrize("closed", ["", "<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_completed(closed: str) -> None:
    line = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", CODE]
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    out = b"" if ">&-" in closed.split() else b"out\n"
    err = b"" if "2>&-" in closed else b"err\n"
    assert (done.stdout, done.stderr) == (out, err)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in a directory below the current one."""
    path = tmp_path / "my bin/skills-runtime"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return path


def test_a_program_on_the_path_is_called_by_its_name(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(program.parent))
    assert find_call(program, "skills-runtime") == "skills-runtime"


def test_a_program_that_is_not_on_the_path_is_called_by_its_own(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert find_call(program, "skills-runtime") == "'my bin/skills-runtime'"
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert find_call(program, "skills-runtime") == f"'{program}'"


def test_a_program_is_called_by_its_path_where_the_current_directory_is_gone(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert find_call(program, "skills-runtime") == f"'{program}'"


def test_another_program_of_the_same_name_is_not_the_one_that_was_called(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other/skills-runtime"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert find_call(program, "skills-runtime") == "'my bin/skills-runtime'"


def test_a_call_by_another_name_uses_the_name_of_the_program(tmp_path: Path) -> None:
    assert find_call(tmp_path / "__main__.py", "skills-runtime") == "skills-runtime"
