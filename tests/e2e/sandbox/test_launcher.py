"""The way from the command line to the command: nothing on it can be used against the machine."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.sandbox.arena import ORIGINAL, SECRET, Arena, new_arena
from tests.e2e.sandbox.attempt import snapshot
from tests.support.users import NOBODY, Unprivileged

PROGRAM = Path(sys.executable).parent / "skills-runtime"
TIMEOUT_SECONDS = 60


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    return new_arena(tmp_path)


def execute(
    workspace: Path, *words: str, options: tuple[str, ...] = (), stdin: "int | bytes" = b"", **others: object
) -> "subprocess.CompletedProcess[str]":
    """One command line of the program, as somebody types it."""
    given = {"input": stdin.decode()} if isinstance(stdin, bytes) else {"stdin": stdin}
    return subprocess.run(  # pyright: ignore[reportCallIssue, reportUnknownVariableType]
        [PROGRAM, "sandbox", "exec", "--workspace", str(workspace), "--timeout", "30", *options, "--", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
        **given,  # pyright: ignore[reportArgumentType]
        **others,  # pyright: ignore[reportArgumentType]
    )


def test_streams_and_exit_code_are_passed_through(arena: Arena) -> None:
    done = execute(arena.workspace, "sh", "-c", "cat; echo wrong >&2; pwd; exit 7", stdin=b"given\n")
    assert (done.returncode, done.stdout, done.stderr) == (7, f"given\n{arena.workspace}\n", "wrong\n")


def test_variables_are_those_that_were_asked_for(arena: Arena) -> None:
    options = ("--setenv", "A", "1 2", "--setenv", "B", "-x=y", "--setenv", "EMPTY", "")
    done = execute(
        arena.workspace, "env", options=options, env={**os.environ, "OPENAI_API_KEY": SECRET, "LD_PRELOAD": ""}
    )
    found = {line.partition("=")[0]: line.partition("=")[2] for line in done.stdout.splitlines()}
    assert (found["A"], found["B"], found["EMPTY"]) == ("1 2", "-x=y", "")
    assert SECRET not in done.stdout
    assert set(found) <= {"A", "B", "EMPTY", "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "TERM", "PWD"}


def test_a_variable_does_not_show_in_the_list_of_processes(arena: Arena) -> None:
    code = "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f; done"
    done = execute(arena.workspace, "sh", "-c", code, options=("--setenv", "KEY", SECRET))
    assert SECRET not in done.stdout


def test_a_program_in_the_workspace_is_never_taken_for_the_fence(arena: Arena) -> None:
    for name in ("bwrap", "prlimit", "setsid", "python3", "sh"):
        program = arena.workspace / name
        program.write_text(f"#!/bin/sh\ntouch '{arena.outside}/escaped'\n")
        program.chmod(0o755)
    path = f"{arena.workspace}:{os.environ['PATH']}"
    done = execute(arena.workspace, "/bin/true", env={**os.environ, "PATH": path}, cwd=arena.workspace)
    assert done.returncode == 0, done.stderr
    assert not (arena.outside / "escaped").exists()


@pytest.mark.parametrize("name", [".vscode", ".git", ".claude", ".mcp.json", ".bashrc"])
@pytest.mark.parametrize("target", ["outside", "oldroot"])
def test_a_planted_link_makes_nothing_outside(name: str, target: str, arena: Arena) -> None:
    place = arena.workspace / name
    subprocess.run(["rm", "-rf", place], check=True)
    place.symlink_to(arena.outside if target == "outside" else Path(f"/oldroot{arena.outside}"))
    before = snapshot(arena.outside)
    line = f"echo x > {name}/x; echo x > {name}; rm -f {name}; mkdir {name}; touch {name}/x; echo ran"
    done = execute(arena.workspace, "/bin/sh", "-c", line)
    assert snapshot(arena.outside) == before
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert place.is_symlink(), "it is put back"


@pytest.mark.parametrize("command", ["true", "false", "kill -9 $$"])
def test_nothing_is_left_in_the_workspace(command: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(ORIGINAL)
    execute(tmp_path, "sh", "-c", command)
    assert snapshot(tmp_path) == {"file": ORIGINAL}


@pytest.mark.parametrize("words", [("--bind", "/", "/", "true"), ("--", "true"), ("--ro-bind", "/", "/mnt", "ls")])
def test_options_of_the_fence_are_no_command(words: tuple[str, ...], arena: Arena) -> None:
    done = execute(arena.workspace, *words)
    assert done.returncode == 22
    assert "is not a program inside the sandbox" in done.stderr


@pytest.mark.parametrize("name", ["with space", "new\nline", "-dash", "üñí", "quote'\"", "--ro-bind", "a,b:c"])
def test_any_name_can_be_a_workspace(name: str, tmp_path: Path) -> None:
    workspace = tmp_path / name
    workspace.mkdir()
    done = execute(workspace, "sh", "-c", "pwd; touch made")
    assert (done.returncode, done.stdout) == (0, f"{workspace}\n"), done.stderr
    assert snapshot(workspace) == {"made": ""}


def test_a_workspace_is_there_by_every_name_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "real/workspace").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    given = tmp_path / "link/workspace"
    done = execute(given, "sh", "-c", f"pwd; touch {given}/made")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/real/workspace\n"), done.stderr
    assert snapshot(tmp_path / "real/workspace") == {"made": ""}


@pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator works in the directories of others")
def test_an_administrator_s_command_works_as_the_owner_of_the_workspace(unprivileged: Unprivileged) -> None:
    done = execute(unprivileged.path, "sh", "-c", "id -u; touch made")
    assert (done.returncode, done.stdout) == (0, "1000\n"), done.stderr
    assert (unprivileged.path / "made").stat().st_uid == NOBODY
    assert snapshot(unprivileged.path) == {"made": ""}


def test_what_this_process_has_open_stays_its_own(arena: Arena) -> None:
    code = (
        "for n in 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo changed > /proc/self/fd/$n; cat <&$n; done; ls /proc/self/fd"
    )
    with (arena.outside / "home/.ssh/id").open() as secret, (arena.outside / "file.txt").open("r+") as file:
        done = execute(arena.workspace, "bash", "-c", code, pass_fds=(secret.fileno(), file.fileno()))
    assert (arena.outside / "file.txt").read_text() == ORIGINAL
    assert SECRET not in done.stdout
    assert done.stdout.split() == ["0", "1", "2", "3"]  # the last is the listing itself


def test_streams_that_are_files_cannot_be_opened_anew(arena: Arena) -> None:
    code = "echo changed > /proc/self/fd/0; echo changed >> /proc/self/fd/0; echo out"
    with (arena.outside / "file.txt").open() as file:
        execute(arena.workspace, "bash", "-c", code, stdin=file.fileno())
    assert (arena.outside / "file.txt").read_text() == ORIGINAL


def test_nothing_is_typed_into_the_terminal_of_the_user(arena: Arena) -> None:
    code = (
        "import fcntl, os\n"
        "for n in (0, 1, 2):\n"
        "    try: fcntl.ioctl(n, 0x5412, b'x'); print('TYPED')\n"
        "    except OSError: pass\n"
        "print(os.isatty(0), os.isatty(1))"
    )
    master, slave = pty.openpty()
    try:
        words = [PROGRAM, "sandbox", "exec", "--workspace", arena.workspace, "--", "/usr/bin/python3", "-c", code]
        with subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, start_new_session=True) as process:
            process.wait(TIMEOUT_SECONDS)
        written = os.read(master, 10_000)
    finally:
        os.close(master)
        os.close(slave)
    assert b"TYPED" not in written
    assert b"False False" in written


def test_the_evidence_is_written_to_the_given_path(arena: Arena) -> None:
    place = arena.outside / "evidence.json"
    execute(arena.workspace, "true", options=("--evidence", str(place)))
    found = place.read_text()
    assert '"active": true' in found
    assert '"adapter": "bubblewrap"' in found
    assert '"ended_by": "exit"' in found
