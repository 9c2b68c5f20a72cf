"""Finding processes and signalling no other than those."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from skills_runtime.sandbox.supervision import process_tree
from skills_runtime.sandbox.supervision.process_tree import Process
from tests.support.users import Unprivileged


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(("sleep", "1000"), env={"PATH": "/usr/bin:/bin", "MARK": "one"}) as process:
        yield process
        process.kill()


def process(pid: int, parent: int) -> Process:
    return Process(pid, parent, group=pid, started=1)


def test_a_line_is_read_whatever_the_program_is_called() -> None:
    found = process_tree.parse_stat(
        "42 (a ) S 1 (b) R 7 8 9 0 -1 " + " ".join(str(number) for number in range(100, 130))
    )
    assert (found.pid, found.parent, found.group) == (42, 7, 8)


def test_the_start_time_is_read(sleeper: subprocess.Popen[bytes]) -> None:
    mine, theirs = process_tree.find_process(os.getpid()), process_tree.find_process(sleeper.pid)
    assert mine is not None
    assert theirs is not None
    assert theirs.started > mine.started
    assert theirs.parent == os.getpid()


def test_a_number_without_a_process_is_nothing() -> None:
    assert process_tree.find_process(2**22 + 1) is None


def test_the_descendants_of_a_process_come_with_parents_first() -> None:
    table = {one.pid: one for one in (process(5, 4), process(4, 2), process(2, 1), process(3, 1), process(9, 8))}
    assert [one.pid for one in process_tree.find_descendants(table, 1)] == [2, 3, 4, 5]


def test_a_branch_can_be_left_out() -> None:
    table = {one.pid: one for one in (process(2, 1), process(3, 2), process(4, 1), process(5, 4))}
    assert [one.pid for one in process_tree.find_descendants(table, 1, without={2})] == [4, 5]


def test_a_process_is_found_by_its_mark(sleeper: subprocess.Popen[bytes]) -> None:
    table = process_tree.list_processes()
    assert sleeper.pid in [one.pid for one in process_tree.find_marked(table, b"MARK=one")]
    assert sleeper.pid not in [one.pid for one in process_tree.find_marked(table, b"MARK=on")]


def test_a_signal_reaches_the_process(sleeper: subprocess.Popen[bytes]) -> None:
    found = process_tree.find_process(sleeper.pid)
    assert found is not None
    assert process_tree.send_signal([found], signal.SIGTERM) == set()
    assert sleeper.wait(10) == -signal.SIGTERM


def test_a_process_that_got_the_number_of_another_is_left_alone(sleeper: subprocess.Popen[bytes]) -> None:
    found = process_tree.find_process(sleeper.pid)
    assert found is not None
    earlier = Process(found.pid, found.parent, found.group, found.started - 1)
    assert process_tree.send_signal([earlier], signal.SIGKILL) == set()
    assert process_tree.send_signal([found], signal.SIGTERM) == set()
    assert sleeper.wait(10) == -signal.SIGTERM


def test_a_process_that_is_gone_is_no_error() -> None:
    assert process_tree.send_signal([process(2**22 + 1, 1)], signal.SIGKILL) == set()


def test_a_process_that_may_not_be_signalled_is_named(
    sleeper: subprocess.Popen[bytes], unprivileged: Unprivileged
) -> None:
    other = sleeper.pid if os.geteuid() == 0 else 1  # a process of somebody else
    found = process_tree.find_process(other)
    assert found is not None
    assert unprivileged(lambda: process_tree.send_signal([found], signal.SIGURG)) == {other}
