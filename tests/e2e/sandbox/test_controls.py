"""What everyday work needs still works behind the fence: a fence that blocks everything would prove nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.sandbox.arena import Arena, new_arena
from tests.support.users import Unprivileged

SHELL = "import subprocess\nsubprocess.run(['bash', '-euo', 'pipefail', '-c', '''{}'''], check=True)\nprint('WORKED')\n"


def shell(text: str) -> str:
    return SHELL.format(text)


CONTROLS = {
    "python": "import json, ssl, sqlite3, hashlib\nprint('WORKED')",
    "write in the workspace": "write('new'); os.rename('new', 'src/new'); assert read('src/new') == 'changed'\n"
    "os.symlink('src/new', 'l'); os.link('src/new', 'h'); os.unlink('src/new')\nprint('WORKED')",
    "pipes": shell("seq 1000 | sort -rn | head -n 1 | grep -q 1000"),
    "a private directory for temporary files": shell("echo x > /tmp/x; test -s /tmp/x; test -w $HOME; mktemp"),
    "build a program": shell('echo "int main(void){return 42;}" > a.c; cc -o a a.c; ./a || test $? = 42'),
    "install a package without a registry": shell(
        "mkdir p; printf x=1 > p/m.py; python3 -m zipapp p -m m:print -o p.pyz; python3 -m venv --without-pip v;"
        " v/bin/python -c pass"
    ),
    "git reads": shell("git status > /dev/null; git log --oneline -n 1 2>/dev/null || true"),
    "git shows only what is somebody's work": shell(
        'mkdir work; cd work; git init -q .; touch mine; test "$(git status --porcelain)" = "?? mine";'
        ' cd ..; git status --porcelain | sort > /tmp/s; ! grep -E "claude|gemini|bashrc" /tmp/s'
    ),
    "git works elsewhere": shell(
        "mkdir /tmp/r; cd /tmp/r; git init -q .; git config user.email a@b; git config user.name n; echo 1 > f;"
        " git add f; git commit -qm one; git log --oneline | grep -q one"
    ),
    "git works in a new directory": shell("git init -q made; cd made; git status > /dev/null"),
    "talk to itself": "import threading\n"
    "server = socket.create_server(('127.0.0.1', 0))\n"
    "threading.Thread(target=lambda: server.accept()[0].sendall(b'hi')).start()\n"
    "assert socket.create_connection(server.getsockname(), 5).recv(2) == b'hi'\nprint('WORKED')",
    "many processes": "from concurrent.futures import ThreadPoolExecutor\n"
    "with ThreadPoolExecutor(8) as pool:\n"
    "    assert not any(pool.map(lambda _: subprocess.call(['true']), range(32)))\nprint('WORKED')",
    "share memory among its own": "from multiprocessing import shared_memory\n"
    "block = shared_memory.SharedMemory(create=True, size=4096); block.close(); block.unlink()\nprint('WORKED')",
    "a terminal of its own": "import pty\npty.spawn(['true'])\nprint('WORKED')",
    "sockets in pairs": "a, b = socket.socketpair(); a.sendall(b'x'); assert b.recv(1) == b'x'\nprint('WORKED')",
    "know who it is": "import getpass, pwd\n"
    "assert getpass.getuser() == pwd.getpwuid(os.getuid()).pw_name\nprint('WORKED')",
    "signals": shell("sleep 60 & kill -TERM $!; wait $! || true"),
    "devices every program uses": shell("head -c 16 /dev/urandom > /dev/null; : < /dev/zero; echo > /dev/null"),
}


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    made = new_arena(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("name", CONTROLS)
def test_everyday_work_goes_on(name: str, arena: Arena) -> None:
    outcome = arena.run(CONTROLS[name])
    assert "WORKED" in outcome.stdout, outcome.stdout + outcome.stderr


def test_everyday_work_goes_on_for_an_ordinary_user(unprivileged: Unprivileged) -> None:
    def run() -> dict[str, str]:
        outcomes = {name: new_arena(unprivileged.path).run(code) for name, code in CONTROLS.items()}
        return {name: one.stdout + one.stderr for name, one in outcomes.items() if "WORKED" not in one.stdout}

    assert unprivileged(run) == {}


def test_what_is_written_in_the_workspace_stays(arena: Arena) -> None:
    arena.run("write('result.txt', 'kept')")
    assert (arena.workspace / "result.txt").read_text() == "kept"


def test_what_is_written_to_the_private_directory_is_gone(arena: Arena) -> None:
    assert arena.run("write('/tmp/x')").finished.exit_code == 0
    outcome = arena.run("print(os.path.exists('/tmp/x'))")
    assert "False" in outcome.stdout


def test_created_files_belong_to_the_owner_of_the_workspace(arena: Arena) -> None:
    arena.run("write('mine')")
    assert (arena.workspace / "mine").stat().st_uid == arena.workspace.stat().st_uid
