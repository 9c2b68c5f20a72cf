"""An execution sees its own copy and nothing of others: no files, no memory, no environment, no network."""

import asyncio
import os
from pathlib import Path

import pytest

from skills_runtime.executions import Execution, Executor, Supplies
from tests.support.users import Unprivileged
from tests.unit.executions.conftest import MakeSkill
from tests.unit.executions.samples import ECHO, an_executor, make_skill

LOOKS = "import json, sys\nfrom pathlib import Path\nvalue = json.load(sys.stdin)\n{}\nprint(json.dumps(found))\n"


def looking(code: str) -> str:
    """A script that says what it found."""
    return LOOKS.format(code)


async def found(executor: Executor, skill: MakeSkill, code: str, *values: object) -> list[object]:
    """What executions of one skill find, one after the other."""
    made = skill(looking(code))
    done = [await executor.execute(made, value) for value in values or ({},)]
    assert {one.status for one in done} == {"completed"}, done[-1].stderr
    return [one.output for one in done]


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm", "/tmp/home", ".", "..", "/var/tmp", "../.."])
async def test_no_file_of_an_earlier_execution_is_there(executor: Executor, skill: MakeSkill, place: str) -> None:
    code = (
        f"mine = Path({place!r}) / 'left.txt'\nfound = mine.exists()\n"
        "try:\n    mine.write_text('x')\nexcept OSError:\n    pass"
    )
    assert await found(executor, skill, code, 1, 2, 3) == [False, False, False]


async def test_memory_is_not_shared(executor: Executor, skill: MakeSkill) -> None:
    code = "import json as j\nfound = getattr(j, 'left', False)\nj.left = True\nimport builtins\nbuiltins.print = print"
    assert await found(executor, skill, code, 1, 2) == [False, False]


async def test_the_environment_is_not_shared(executor: Executor, skill: MakeSkill) -> None:
    code = "import os\nfound = os.environ.get('LEFT')\nos.environ['LEFT'] = 'x'\nfound = found or 'none'"
    assert await found(executor, skill, code, 1, 2) == ["none", "none"]


async def test_objects_between_processes_are_not_shared(executor: Executor, skill: MakeSkill) -> None:
    code = (
        "import ctypes\nlibc = ctypes.CDLL(None)\nfound = libc.shmget(77, 4096, 0o600) >= 0\n"
        "libc.shmget(77, 4096, 0o600 | 0o1000)"
    )
    assert await found(executor, skill, code, 1, 2) == [False, False]


async def test_random_numbers_differ(executor: Executor, skill: MakeSkill) -> None:
    first, second = await found(executor, skill, "import random\nfound = random.random()", 1, 2)
    assert first != second


async def test_the_environment_of_the_runtime_is_not_there(
    executor: Executor, skill: MakeSkill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "t0psecret")
    code = "import os\nfound = sorted(name for name in os.environ if 'SECRET' in name or 'KEY' in name)"
    assert await found(executor, skill, code) == [[]]


async def test_declared_variables_are_there(tmp_path: Path, skill: MakeSkill) -> None:
    made = skill(looking("import os\nfound = os.environ.get('TOKEN')"))
    async with an_executor(tmp_path, supplies=Supplies(variables=lambda _: {"TOKEN": "t"})) as executor:
        assert (await executor.execute(made, {})).output == "t"


async def test_other_skills_and_records_cannot_be_seen(executor: Executor, skill: MakeSkill, tmp_path: Path) -> None:
    make_skill(tmp_path, ECHO, name="other")
    made = skill(looking("found = [Path(one).exists() for one in value]"))
    first = await executor.execute(made, [str(tmp_path / "skills" / "other"), str(made.directory)])
    assert first.output == [False, False]
    again = await executor.execute(made, [str(executor.directory(first.id)), "/home", "/etc/shadow"])
    assert again.output == [False, False, False]


async def test_there_is_no_network(executor: Executor, skill: MakeSkill) -> None:
    code = (
        "import socket\ntry:\n    socket.create_connection(('127.0.0.1', value), 2)\n    found = True\n"
        "except OSError:\n    found = False"
    )
    server = await asyncio.start_server(lambda _r, _w: None, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        assert await found(executor, skill, code, port) == [False]


async def test_the_installed_skill_never_changes(executor: Executor, skill: MakeSkill) -> None:
    code = "Path(__file__).write_text('print(2)')\nPath('skill.yaml').unlink()\nfound = 1"
    made = skill(looking(code))
    directory = made.directory or Path()
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    assert (await executor.execute(made, {})).output == 1
    assert (await executor.execute(made, {})).output == 1
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before


async def test_the_input_cannot_be_changed_by_the_skill(executor: Executor, skill: MakeSkill) -> None:
    code = (
        "import os\nfound = 0\ntry:\n    os.write(os.open('/proc/self/fd/0', os.O_RDWR), b'x')\n"
        "except OSError as error:\n    found = error.errno"
    )
    made = skill(looking(code))
    execution = await executor.execute(made, {"a": 1})
    assert execution.output == 1  # EPERM
    assert (executor.directory(execution.id) / "input.json").read_text() == '{"a": 1}'


async def test_a_skill_that_ends_everything_around_it_ends_only_itself(executor: Executor, skill: MakeSkill) -> None:
    made = skill("import os, signal\nos.kill(-1, signal.SIGKILL)\nprint('[1]', flush=True)\n")
    other = skill("import time\ntime.sleep(1)\nprint('[2]')\n", name="other")
    beside = asyncio.create_task(executor.execute(other, {}))
    execution = await executor.execute(made, {})
    assert execution.status in ("failed", "completed")
    assert (await beside).output == [2]
    assert (await executor.execute(other, {})).output == [2]


async def test_what_an_execution_does_to_its_process_reaches_no_other(executor: Executor, skill: MakeSkill) -> None:
    code = (
        "import os, resource\nfound = resource.getrlimit(resource.RLIMIT_NOFILE)[0]\nparent = os.getppid()\n"
        "limit = lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE, (9, 9))\n"
        "for change in (limit, lambda: os.setpriority(0, parent, 5)):\n"
        "    try:\n        change()\n    except OSError:\n        pass"
    )
    first, second = await found(executor, skill, code, 1, 2)
    assert first == second


async def test_the_process_it_came_from_cannot_be_looked_into(executor: Executor, skill: MakeSkill) -> None:
    code = (
        "import os\nfound = []\nfor name in ('mem', 'environ', 'maps', 'fd/3'):\n"
        "    try:\n        open(f'/proc/{os.getppid()}/{name}', 'rb').read(1)\n        found.append(name)\n"
        "    except OSError:\n        pass"
    )
    if (await executor.execute(skill(looking("found = 1")), {})).record.warm:
        assert await found(executor, skill, code) == [[]]


@pytest.mark.parametrize("name", ["platform", "json", "socket", "inside"])
async def test_modules_of_the_skill_come_before_those_of_python(
    executor: Executor, skill: MakeSkill, name: str
) -> None:
    made = skill(f"import {name}, sys\nprint([{name}.MINE, len(sys.argv)] if __name__ == '__main__' else 0)\n")
    ((made.directory or Path()) / f"{name}.py").write_text("MINE = 1\n")
    assert (await executor.execute(made, {})).output == [1, 1]


async def test_leftover_threads_and_handlers_run_as_in_any_python(executor: Executor, skill: MakeSkill) -> None:
    made = skill(
        "import atexit, sys, threading, time\natexit.register(lambda: print(']'))\nprint('[1', end='')\n"
        "threading.Thread(target=lambda: (time.sleep(0.1), print(', 2', end=''))).start()\n"
    )
    assert (await executor.execute(made, {})).output == [1, 2]


def test_an_ordinary_user_has_the_same_isolation(unprivileged: Unprivileged) -> None:
    from skills_runtime.executions import zygotes

    zygotes.zygote_sources()  # which the child of a closed checkout could not read

    async def both() -> list[Execution]:
        place = unprivileged.path
        code = looking("mine = Path('/tmp/left')\nfound = mine.exists()\nmine.write_text('x')")
        async with an_executor(place) as executor:
            made = [make_skill(place, code, name=name, warm=name == "warm") for name in ("warm", "fresh")]
            return [await executor.execute(one, {}) for one in (*made, *made)]

    done = unprivileged(lambda: asyncio.run(both()))
    assert [one.output for one in done] == [False] * 4, [one.stderr for one in done]
    assert [one.record.warm for one in done] == [True, False, True, False]
    assert os.geteuid() != 0 or done[0].record.isolation["adapter"] == "bubblewrap"
