"""What surrounds the command line may be odd, and the command still runs, or is refused in words."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.users import NOBODY

PROGRAM = Path(sys.executable).parent / "skills-runtime"


def _run(workspace: Path, *words: str, before: str = "", options: tuple[str, ...] = ()) -> "tuple[int, str]":
    """Exit code and both streams of a command line, started by a shell that may close streams before."""
    line = [os.fsencode(word) for word in (PROGRAM, "sandbox", "exec", *options, "--workspace")]
    argv = ["/bin/sh", "-c", f'exec "$@" {before}', "sh", *line, os.fsencode(workspace), "--", *words]
    done = subprocess.run(argv, capture_output=True, check=False, timeout=60, stdin=subprocess.DEVNULL)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


@pytest.fixture
def variable_place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        yield Path(place)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_command_runs_with_a_closed_stream(closed: str, tmp_path: Path) -> None:
    _run(tmp_path, "touch", "ran", before=closed)
    assert (tmp_path / "ran").exists()


def test_an_output_that_is_full_and_does_not_block_gets_everything_later(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while os.write(writer, b" " * 4096):
            pass
    words = [PROGRAM, "sandbox", "exec", "--workspace", str(tmp_path), "--", "seq", "1", "50000"]
    process = subprocess.Popen(words, stdout=writer, stderr=subprocess.DEVNULL)
    os.close(writer)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=3)  # time enough to give up, which it must not
    with open(reader, "rb") as pipe:
        got = pipe.read()
    assert (process.wait(timeout=60), got.count(b"\n")) == (0, 50000)


def test_a_workspace_may_lie_in_the_other_temporary_directory(variable_place: Path) -> None:
    code, said = _run(variable_place, "touch", "ran")
    assert (variable_place / "ran").exists(), (code, said)


def test_a_workspace_may_have_a_name_that_is_no_text(tmp_path: Path) -> None:
    workspace = tmp_path / os.fsdecode(b"\xff\xfe")
    workspace.mkdir()
    code, said = _run(workspace, "touch", "ran")
    assert (workspace / "ran").exists(), (code, said)


def test_a_workspace_may_be_named_by_a_link_in_itself(tmp_path: Path) -> None:
    (tmp_path / "self").symlink_to(".")
    code, said = _run(tmp_path / "self", "touch", "ran")
    assert (tmp_path / "ran").exists(), (code, said)


def test_more_secrets_than_the_fence_can_hide_are_refused_in_words(tmp_path: Path) -> None:
    for number in range(3100):
        (tmp_path / f".env.{number}").touch()
    code, said = _run(tmp_path, "true")
    assert code in (0, 24), (code, said)


@pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator could write there anyway")
@pytest.mark.parametrize("place", ["/proc/sys/kernel", "/proc/self", "/sys/kernel"])
def test_the_kernel_is_no_workspace(place: str) -> None:
    code, _ = _run(Path(place), "true")
    assert code == 24


@pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator has others' workspaces")
def test_a_workspace_of_another_user_below_a_closed_directory_can_be_written(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    workspace = closed / "workspace"
    workspace.mkdir()
    os.chown(workspace, NOBODY, NOBODY)
    code, said = _run(workspace, "touch", "ran")
    assert (workspace / "ran").exists() or code == 24, (code, said)


def test_a_command_runs_when_its_caller_stands_in_a_directory_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    line = f'rmdir "{gone}"; exec "{PROGRAM}" sandbox exec --workspace "{tmp_path}" -- touch ran'
    subprocess.run(["/bin/sh", "-c", line], cwd=gone, capture_output=True, check=False, timeout=60)
    assert (tmp_path / "ran").exists()
