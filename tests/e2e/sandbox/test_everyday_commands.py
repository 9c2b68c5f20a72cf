"""What people do every day and expect to work behind the fence, as an administrator and as an ordinary user."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.sandbox.arena import Arena, Outcome, new_arena
from tests.support.users import Unprivileged

GIT = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
NAMED = ("-c", "user.name=a", "-c", "user.email=a@example.com")

THREADS = """
import threading
held = threading.Event()
for _ in range(100): threading.Thread(target=held.wait, daemon=True).start()
reached(); held.set()
"""
MANAGER = """
import multiprocessing
with multiprocessing.Manager() as manager:
    shared = manager.dict(); shared["a"] = 1
    if shared["a"] == 1: reached()
"""
SERVER = """
import multiprocessing
context = multiprocessing.get_context("forkserver")
process = context.Process(target=print, args=("x",)); process.start(); process.join()
if process.exitcode == 0: reached()
"""
POOL = """
import multiprocessing
with multiprocessing.Pool(2) as pool:
    if pool.map(abs, [-1, -2]) == [1, 2]: reached()
"""
BROKEN = {"a manager of shared objects": MANAGER, "a server that forks": SERVER}


def _shell(line: str) -> str:
    return f"subprocess.run(['/bin/sh', '-ec', {line!r}], check=True); reached()"


CERTIFICATE = "openssl req -x509 -newkey rsa:2048 -nodes -keyout /tmp/k -out /tmp/c -subj /CN=x -days 1"
MISSING = {
    "copy the workspace": _shell("cp -r . /tmp/copy"),
    "pack and unpack the workspace": _shell("mkdir /tmp/out; tar cf /tmp/all.tar .; tar xf /tmp/all.tar -C /tmp/out"),
    "make a certificate": _shell(CERTIFICATE),
    "know a service by name": "if socket.getservbyname('https') == 443: reached()",
}
WORKS = {
    "a pool of processes": POOL,
    "a session on a terminal of its own": "import pty\nif pty.spawn(['/bin/true']) == 0: reached()",
    "two processes over loopback": "s = socket.create_server(('127.0.0.1', 0))\n"
    "socket.create_connection(s.getsockname()); s.accept(); reached()",
    "lock a file": _shell("flock lock true"),
    "a database with a log of its own": "import sqlite3\nd = sqlite3.connect('x.db')\n"
    "d.execute('pragma journal_mode=wal'); d.execute('create table t(a)'); d.commit(); reached()",
    "a file with holes": _shell("truncate -s 60M holes"),
    "an environment without pip": _shell("python3 -m venv --without-pip v; v/bin/python -c 1"),
    "two at once with make": _shell("printf 'all: a b\\na b:\\n\\techo $@\\n' > Makefile; make -j2"),
    "move a directory with what is in it": _shell("mkdir -p d/e; mv d f; rm -r f"),
    "the settings of the user": _shell("git config --global user.name x; mkdir -p ~/.cache/y"),
}


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    made = new_arena(tmp_path)
    yield made
    made.close()


def _ordinary(unprivileged: Unprivileged, code: str) -> Outcome:
    def run() -> Outcome:
        return new_arena(unprivileged.path).run(code)

    return unprivileged(run)


@pytest.mark.parametrize("name", sorted(WORKS))
def test_what_people_do_works(name: str, arena: Arena) -> None:
    outcome = arena.run(WORKS[name])
    assert outcome.reached, outcome.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(WORKS))
def test_what_people_do_works_for_an_ordinary_user(name: str, unprivileged: Unprivileged) -> None:
    outcome = _ordinary(unprivileged, WORKS[name])
    assert outcome.reached, outcome.stderr


@pytest.mark.parametrize("name", sorted(MISSING))
def test_what_people_also_do_works(name: str, arena: Arena) -> None:
    outcome = arena.run(MISSING[name])
    assert outcome.reached, outcome.stderr


@pytest.mark.xfail(
    reason="sockets in the file system are closed also between processes of one command",
    strict=True,
    raises=AssertionError,
)
@pytest.mark.parametrize("name", sorted(BROKEN))
def test_processes_of_one_command_talk_to_each_other(name: str, arena: Arena) -> None:
    outcome = arena.run(BROKEN[name])
    assert outcome.reached, outcome.stderr


def test_a_hundred_threads_are_no_matter(arena: Arena) -> None:
    outcome = arena.run(THREADS)
    assert outcome.reached, outcome.stderr


def test_a_hundred_threads_are_no_matter_for_an_ordinary_user(unprivileged: Unprivileged) -> None:
    outcome = _ordinary(unprivileged, THREADS)
    assert outcome.reached, outcome.stderr


def test_git_works_in_a_work_tree_of_a_repository_elsewhere(tmp_path: Path) -> None:
    arena = new_arena(tmp_path)
    subprocess.run(["git", "init", "-q", "main"], cwd=arena.base, env=GIT, check=True)
    main = arena.base / "main"
    subprocess.run(["git", *NAMED, "commit", "-q", "--allow-empty", "-m", "x"], cwd=main, env=GIT, check=True)
    subprocess.run(["rm", "-rf", str(arena.workspace)], check=True)
    subprocess.run(["git", "worktree", "add", "-q", str(arena.workspace)], cwd=main, env=GIT, check=True)
    outcome = arena.run(_shell("git status; git log"))
    assert outcome.reached, outcome.stderr
