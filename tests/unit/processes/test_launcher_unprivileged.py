"""The same as an ordinary user, who may not signal everybody."""

import asyncio
import os
import shutil
import signal
from pathlib import Path

import pytest

from skills_runtime.errors import AccessRefused
from skills_runtime.processes import (
    Command,
    Finished,
    Limits,
    PtySession,
    SessionStatus,
    execute,
    shell_command,
)
from skills_runtime.sandbox.supervision import process_tree
from tests.support.users import NOBODY, Unprivileged
from tests.unit.processes.conftest import wait_for_end

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def shell(text: str, cwd: Path) -> Command:
    return Command(shell_command(text), cwd, ENVIRONMENT)


def test_the_tree_of_an_ordinary_user_is_ended(unprivileged: Unprivileged) -> None:
    script = "id -u; (trap '' TERM; sleep 1000) & setsid -f sleep 1000; env -i setsid -f sleep 1000; (sleep 1000 &)"

    def run() -> Finished:
        return asyncio.run(execute(shell(script, unprivileged.path), Limits(20, grace_seconds=0.2)))

    finished = unprivileged(run)
    assert (finished.ended_by, finished.exit_code, finished.survivors) == ("exit", 0, ())
    assert int(finished.stdout.text()) == (NOBODY if os.geteuid() == 0 else os.geteuid())


def test_a_timeout_of_an_ordinary_user_ends_the_tree(unprivileged: Unprivileged) -> None:
    script = "setsid -f sleep 1000; trap '' TERM; sleep 1000"

    def run() -> Finished:
        return asyncio.run(execute(shell(script, unprivileged.path), Limits(1.5, grace_seconds=0.2)))

    finished = unprivileged(run)
    assert (finished.ended_by, finished.signal) == ("timeout", signal.SIGKILL)


def test_a_session_of_an_ordinary_user_can_be_signalled_and_closed(unprivileged: Unprivileged) -> None:
    async def talk() -> tuple[str, SessionStatus]:
        session = await PtySession.start(
            shell("trap 'echo int' INT; tty; while :; do sleep 0.02; done", unprivileged.path)
        )
        said = (await session.read(timeout_ms=10_000, until_idle_ms=0)).output.text()
        session.signal(signal.SIGINT)
        said += (await session.read(timeout_ms=10_000, until_idle_ms=0)).output.text()
        return said, await session.close()

    said, status = unprivileged(lambda: asyncio.run(talk()))
    assert "/dev/pts/" in said
    assert "int" in said
    assert status.signal == signal.SIGHUP


def test_a_program_in_a_directory_that_may_not_be_searched_is_refused(unprivileged: Unprivileged) -> None:
    hidden = unprivileged.path / "hidden"
    hidden.mkdir()
    shutil.copy("/bin/true", hidden / "tool")
    hidden.chmod(0)
    command = Command(("tool",), unprivileged.path, {"PATH": f"{hidden}:/usr/bin"})
    with pytest.raises(AccessRefused, match="not executable by this user"):
        unprivileged(lambda: asyncio.run(execute(command, Limits(20))))
    hidden.chmod(0o700)


def test_a_directory_that_may_not_be_entered_is_refused(unprivileged: Unprivileged) -> None:
    closed = unprivileged.path / "closed"
    closed.mkdir()
    closed.chmod(0)
    command = Command(("true",), closed, ENVIRONMENT)
    with pytest.raises(AccessRefused, match="may not be entered by this user"):
        unprivileged(lambda: asyncio.run(execute(command, Limits(20))))
    closed.chmod(0o700)


def test_a_program_that_others_may_run_but_this_user_may_not_is_refused(unprivileged: Unprivileged) -> None:
    tool = unprivileged.path / "tool"
    shutil.copy("/bin/true", tool)
    tool.chmod(0o644)
    with pytest.raises(AccessRefused, match="not executable by this user"):
        unprivileged(lambda: asyncio.run(execute(Command(("./tool",), unprivileged.path, ENVIRONMENT), Limits(20))))


def test_processes_that_may_not_be_ended_are_named(unprivileged: Unprivileged) -> None:
    became_root = os.geteuid() == 0 and not os.statvfs(unprivileged.path).f_flag & os.ST_NOSUID
    tool = unprivileged.path / "setpriv"
    shutil.copy(shutil.which("setpriv") or "setpriv", tool)
    tool.chmod(0o4755)
    command = Command((str(tool), "--reuid", "0", "sleep", "1000"), unprivileged.path, ENVIRONMENT)

    finished = unprivileged(lambda: asyncio.run(execute(command, Limits(1.5, grace_seconds=0.1))))
    for pid in finished.survivors:
        assert process_tree.find_process(pid) is not None
        os.kill(pid, signal.SIGKILL)
        wait_for_end(pid)
    assert len(finished.survivors) == (1 if became_root else 0)
