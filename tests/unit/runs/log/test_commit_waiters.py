"""Commits are never waited for in vain: not when a loop or a process ends, not when no thread can be begun."""

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.events.payloads import HumanResponse
from skills_runtime.runs.log import commit, writer
from skills_runtime.runs.log.commit import Committer
from tests.support.runs import new_run

WAIT = 20
"""Seconds after which something that should have happened never will."""
REPOSITORY = Path(__file__).resolve().parents[4]

LATE = """
import asyncio, atexit, sys, threading
from pathlib import Path
from skills_runtime.events.payloads import HumanResponse
from tests.support.runs import new_run

def late():
    if when == "thread":
        threading.main_thread().join()
    for number in range(2):
        run.append(HumanResponse(call_id=str(number)))
        run.commit() if how == "commit" else asyncio.run(run.commit_async())
    print("durable", flush=True)

when, how, place = sys.argv[1:]
run = new_run(Path(place))
run.commit()
atexit.register(late) if when == "exit" else threading.Thread(target=late).start()
"""


@pytest.mark.parametrize("how", ["commit", "commit_async"])
@pytest.mark.parametrize("when", ["thread", "exit"])
def test_a_commit_while_the_process_ends_is_durable(tmp_path: Path, when: str, how: str) -> None:
    command = [sys.executable, "-c", LATE, when, how, str(tmp_path)]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=3 * WAIT, check=False)
    assert (ended.stdout, ended.stderr) == ("durable\n", "")


class _Unwilling(ThreadPoolExecutor):
    """A pool that takes work only after the first time, as one does that could begin no thread."""

    error: BaseException | None = RuntimeError("can't start new thread")

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Refuse once."""
        error, self.error = self.error, None
        if error is not None:
            raise error
        return super().submit(fn, *args, **kwargs)


@pytest.fixture
def committer(monkeypatch: pytest.MonkeyPatch) -> Committer:
    """The committer of all logs, whose first thread cannot be begun."""
    monkeypatch.setattr(commit, "ThreadPoolExecutor", _Unwilling)
    committer = Committer()

    def committer_of(device: int) -> Committer:
        return committer

    monkeypatch.setattr(writer, "get_committer", committer_of)
    return committer


@pytest.mark.usefixtures("committer")
async def test_where_no_thread_can_be_begun_commits_are_made_without(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    await asyncio.wait_for(run.commit_async(), WAIT)
    run.append(HumanResponse(call_id="next"))
    await asyncio.wait_for(run.commit_async(), WAIT)
    run.close()


def test_an_interrupted_commit_does_not_delay_the_next(
    tmp_path: Path, committer: Committer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Unwilling, "error", KeyboardInterrupt())
    run = new_run(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run.commit()
    assert committer.request(run.log).result(WAIT) is None
    run.close()


def test_a_loop_that_ends_before_its_commit_blocks_no_other(tmp_path: Path) -> None:
    left, other = new_run(tmp_path, run_id="left"), new_run(tmp_path, run_id="other")
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(left.commit_async())
    loop.call_soon(loop.stop)
    loop.run_forever()
    assert not waiting.done()
    work = threading.Thread(target=other.commit, daemon=True)
    work.start()
    work.join(WAIT)
    assert not work.is_alive()
    loop.run_until_complete(asyncio.wait_for(waiting, WAIT))
    loop.close()
    left.close()
    other.close()


def test_a_log_that_was_left_and_closed_does_not_harm_the_next(tmp_path: Path) -> None:
    left, other = new_run(tmp_path, run_id="left"), new_run(tmp_path, run_id="other")
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(left.commit_async())
    loop.call_soon(loop.stop)
    loop.run_forever()
    left.close()
    waiting.cancel()
    loop.run_until_complete(asyncio.wait([waiting]))
    loop.close()
    other.commit()
    other.close()


def test_loops_of_many_threads_share_one_committer(tmp_path: Path) -> None:
    runs = [new_run(tmp_path, run_id=f"run_{number}") for number in range(8)]

    async def often(run: Any) -> None:
        for number in range(20):
            run.append(HumanResponse(call_id=str(number)))
            await asyncio.wait_for(run.commit_async(), WAIT)

    with ThreadPoolExecutor(len(runs)) as pool:
        for done in [pool.submit(asyncio.run, often(run)) for run in runs]:
            done.result(3 * WAIT)
    for run in runs:
        run.close()
