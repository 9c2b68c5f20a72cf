"""Where the fence that is asked for cannot be put up, nothing is started, and the words say what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).parent / "skills-runtime"
TIMEOUT_SECONDS = 60
NO_FENCE = """#!/bin/sh
if [ "$1" = --version ]; then echo "bubblewrap 9.9"; exit; fi
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""
WITHOUT_LANDLOCK = """
import ctypes, os, struct, sys
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x50026), (0x06, 0, 0, 0x7FFF0000)]
held = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.c_char_p(struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(held))), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    return made


def words(workspace: Path, *options: str) -> list[str]:
    return [str(PROGRAM), "sandbox", "exec", "--workspace", str(workspace), *options, "--", "/usr/bin/touch", "ran"]


def run(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS)


def refused(done: "subprocess.CompletedProcess[str]", workspace: Path) -> str:
    """The words of a refusal, after which nothing has been started and nothing was left."""
    assert (done.returncode, done.stdout) == (24, ""), done.stderr
    assert list(workspace.iterdir()) == []
    assert "kind: sandbox_denied" in done.stderr
    return done.stderr


def test_without_bubblewrap(workspace: Path) -> None:
    text = refused(run(*words(workspace, "--adapter", "bubblewrap", "--bwrap", "no-such-bwrap")), workspace)
    assert "there is no program `no-such-bwrap` in /usr/bin" in text
    assert "apt install bubblewrap" in text


def test_without_bubblewrap_another_fence_is_no_silent_substitute(workspace: Path) -> None:
    text = refused(run(*words(workspace, "--bwrap", "no-such-bwrap")), workspace)
    assert "there is no program `no-such-bwrap`" in text
    assert "landlock cannot promise `protected_paths`, `secrets`, `processes`" in text
    assert "apt install bubblewrap" in text


def test_with_user_namespaces_switched_off(workspace: Path) -> None:
    inner = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    switched_off = ("unshare", "--user", "--map-root-user", "sh", "-c", inner, "sh")
    if run(*switched_off, "true").returncode != 0:
        pytest.skip("this user cannot switch user namespaces off for a process")
    text = refused(run(*switched_off, *words(workspace, "--adapter", "bubblewrap")), workspace)
    assert "started no sandbox" in text
    assert "user.max_user_namespaces" in text


def test_without_landlock(workspace: Path) -> None:
    gaps = [word for name in ("protected_paths", "secrets", "processes") for word in ("--accept-gap", name)]
    command = words(workspace, "--adapter", "landlock", *gaps)
    text = refused(run(sys.executable, "-c", WITHOUT_LANDLOCK, *command), workspace)
    assert "this kernel has no Landlock" in text
    assert "lsm=landlock" in text


def test_a_program_that_builds_no_sandbox_is_detected(workspace: Path, tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text(NO_FENCE)
    program.chmod(0o755)
    text = refused(run(*words(workspace, "--adapter", "bubblewrap", "--bwrap", str(program))), workspace)
    assert "the pid namespace is that of the machine" in text
    assert "system calls are not filtered" in text


def test_a_world_writable_program_is_not_used(workspace: Path, tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text(NO_FENCE)
    program.chmod(0o757)
    text = refused(run(*words(workspace, "--adapter", "bubblewrap", "--bwrap", str(program))), workspace)
    assert "only its owner can change" in text


@pytest.mark.parametrize("place", ["/", "/usr", "/tmp"])
def test_the_system_is_no_workspace(place: str) -> None:
    done = run(*words(Path(place)))
    assert done.returncode == 24
    assert f"`{place}` cannot be a workspace" in done.stderr


def test_a_workspace_must_be_there(tmp_path: Path) -> None:
    done = run(*words(tmp_path / "missing"))
    assert done.returncode == 22
    assert "does not exist" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--profile", "nonsense"), "there is no profile"),
        (("--profile", "danger"), "is not a sandbox"),
        (("--accept-gap", "nonsense"), "there is no promise"),
        (("--adapter", "nonsense"), "there is no adapter"),
        (("--timeout", "-1"), "cannot be negative"),
        (("--setenv", "=", "x"), "`--setenv` needs a name"),
    ],
)
def test_options_that_make_no_sense_start_nothing(options: tuple[str, ...], message: str, workspace: Path) -> None:
    done = run(*words(workspace, *options))
    assert done.returncode == 20
    assert message in done.stderr
    assert list(workspace.iterdir()) == []


def test_doctor_says_what_is_wrong_and_how_to_change_it() -> None:
    done = run(str(PROGRAM), "sandbox", "doctor", "--adapter", "bubblewrap", "--bwrap", "no-such-bwrap")
    assert done.returncode == 24
    assert "bubblewrap: does not work" in done.stdout
    assert "fix: install it" in done.stdout


def test_doctor_tells_promises_and_gaps() -> None:
    done = run(str(PROGRAM), "sandbox", "doctor")
    assert done.returncode == 0
    assert "bubblewrap: works" in done.stdout
    assert "  disk: writes to the workspace are measured" in done.stdout


def test_a_plan_tells_everything_but_the_values_of_variables(workspace: Path) -> None:
    command = [str(PROGRAM), "sandbox", "plan", "--workspace", str(workspace), "--setenv", "KEY", "hush", "--", "ls"]
    done = run(*command)
    assert done.returncode == 0
    assert "--unshare-net" in done.stdout
    assert "--setenv KEY •••" in done.stdout
    assert "hush" not in done.stdout
    assert list(workspace.iterdir()) == []
