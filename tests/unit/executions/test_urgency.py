"""Executions are less urgent than whoever serves them."""

import os
import socket
from pathlib import Path

import pytest

from skills_runtime.executions import Executor
from skills_runtime.executions.urgency import LOWER, Session, receive, tell_sender
from tests.unit.executions.samples import make_skill

SAYS = "import json, os\nprint(json.dumps([os.getpriority(os.PRIO_PROCESS, 0), os.getpgid(0) == os.getpid()]))\n"


async def test_a_waiting_process_and_what_it_starts_give_way_to_others(executor: Executor, tmp_path: Path) -> None:
    mine = os.getpriority(os.PRIO_PROCESS, 0)
    done = await executor.execute(make_skill(tmp_path, SAYS), {})
    assert done.record.warm
    assert done.output == [min(mine + LOWER, 19), True]


@pytest.mark.parametrize("runtime", ["python", "shell"])
async def test_a_process_made_for_one_execution_gives_way_as_well(
    executor: Executor, tmp_path: Path, runtime: str
) -> None:
    mine = os.getpriority(os.PRIO_PROCESS, 0)
    shell = "set -- $(cat /proc/self/stat); echo ${19}"  # the field that says it, of a child of the shell
    python = "import json, os\nprint(json.dumps(os.getpriority(os.PRIO_PROCESS, 0)))\n"
    made = make_skill(tmp_path, shell if runtime == "shell" else python, runtime=runtime, warm=False)
    done = await executor.execute(made, {})
    assert not done.record.warm
    assert done.output == min(mine + LOWER, 19)


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this system does not group by session")
async def test_the_session_of_a_process_made_for_one_execution_counts_less(executor: Executor, tmp_path: Path) -> None:
    code = f'until grep -q "nice {LOWER}" /proc/self/autogroup; do sleep 0.01; done; echo true'
    done = await executor.execute(make_skill(tmp_path, code, runtime="shell", warm=False), {}, timeout_ms=60_000)
    assert (done.record.warm, done.output) == (False, True)


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this system does not group by session")
async def test_the_whole_session_of_an_execution_counts_less(executor: Executor, tmp_path: Path) -> None:
    made = make_skill(tmp_path, "cat /proc/self/autogroup; echo", runtime="shell")
    said: list[str] = []
    while len(said) < 200 and f"nice {LOWER}" not in "".join(said):  # the system may want to be asked again
        done = await executor.execute(made, {})
        assert done.record.warm
        said.append(done.stdout)
    assert f"nice {LOWER}" in said[-1]


def test_a_message_says_which_process_it_comes_from() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        tell_sender(ours)
        theirs.send(b"here")
        assert receive(ours, 10) == (b"here", os.getpid())
        theirs.close()
        assert receive(ours, 10)[0] == b""


def test_a_process_that_is_gone_cannot_be_made_less_urgent() -> None:
    session = Session(2**22 + 1)
    session.lower()
    session.close()
