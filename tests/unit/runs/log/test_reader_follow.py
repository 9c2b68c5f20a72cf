"""A follower sees every line once, in order, from where it asked, and leaves nothing behind."""

import asyncio
import os
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import IO

import pytest
import watchfiles

from skills_runtime.errors import LogCorrupt, NotFound
from skills_runtime.events.payloads import HumanResponse, RunCompleted
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log import follow_lines
from skills_runtime.runs.run import open_run
from tests.support.children import zygote
from tests.support.runs import count_descriptors, decoded, filled_run, lines_of, new_run, ports_in

WAIT = 20


async def all_lines(lines: AsyncGenerator[bytes]) -> list[bytes]:
    async with aclosing(lines):
        return [line + b"\n" async for line in lines]


async def follow(paths: RunPaths, from_seq: int = 0) -> list[bytes]:
    return await asyncio.wait_for(all_lines(follow_lines(paths, from_seq=from_seq)), WAIT)


def append_slowly(say: IO[bytes], hear: IO[bytes], directory: Path, root: Path, count: int) -> None:
    """Append events, some in one go and some one by one as the test says, then end the run."""
    run = open_run(root, ports_in(directory))
    for number in range(count):
        run.append(HumanResponse(call_id=str(number), answer="x" * (number * 37 % 500)))
        if number % 5 == 0:
            say.write(b"go on?\n")
            hear.readline()
    run.append(RunCompleted(final_output="done"))
    run.close()


async def test_every_line_that_another_process_appends_is_seen_once_and_in_order(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.close()
    with zygote(__name__) as nursery, nursery.child(append_slowly, tmp_path, run.paths.root, 60) as child:
        following = asyncio.ensure_future(follow(run.paths))
        late = asyncio.ensure_future(follow(run.paths, 30))
        while await asyncio.to_thread(child.line):
            child.tell(b"yes")
        assert await following == lines_of(run.paths)
        assert await late == lines_of(run.paths)[30:]
    assert [decoded(line)["seq"] for line in lines_of(run.paths)] == list(range(63))


async def test_each_line_arrives_before_the_next_is_written(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    async with aclosing(follow_lines(run.paths)) as lines:
        for _ in range(2):
            await anext(lines)
        for number in range(20):
            run.append(HumanResponse(call_id=str(number)))
            line = await asyncio.wait_for(anext(lines), WAIT)
            assert decoded(line)["payload"]["call_id"] == str(number)
    run.close()


@pytest.mark.parametrize("from_seq", [0, 1, 7, 15, 16, 1000])
async def test_following_may_begin_at_any_event_and_ends_with_the_run(from_seq: int, tmp_path: Path) -> None:
    paths = filled_run(tmp_path, end=True)
    assert await follow(paths, from_seq) == lines_of(paths)[from_seq:]


async def test_a_line_is_not_given_out_before_it_is_complete(tmp_path: Path) -> None:
    paths = filled_run(tmp_path, end=True)
    *before, last = lines_of(paths)
    paths.events.write_bytes(b"".join(before) + last[:-1])
    async with aclosing(follow_lines(paths)) as lines:
        assert [await anext(lines) + b"\n" for _ in before] == before
        with paths.events.open("ab") as file:
            file.write(b"\n")
        assert await asyncio.wait_for(anext(lines), WAIT) + b"\n" == last


async def test_a_line_that_is_no_event_is_refused_in_words(tmp_path: Path) -> None:
    paths = filled_run(tmp_path)
    with paths.events.open("ab") as file:
        file.write(b"garbage\n")
    with pytest.raises(LogCorrupt, match="line 16 of the log is not a complete event line"):
        await follow(paths)


async def test_a_repeated_line_is_refused_in_words(tmp_path: Path) -> None:
    paths = filled_run(tmp_path)
    with paths.events.open("ab") as file:
        file.write(lines_of(paths)[3])
    with pytest.raises(LogCorrupt, match="line 16 of the log does not have the next sequence number"):
        await follow(paths)


async def test_a_log_that_was_cut_below_the_follower_is_not_read_from_its_middle(tmp_path: Path) -> None:
    paths = filled_run(tmp_path)
    whole = lines_of(paths)
    async with aclosing(follow_lines(paths)) as lines:
        for _ in whole:
            await anext(lines)
        os.truncate(paths.events, len(b"".join(whole[:5])))
        with paths.events.open("ab") as file:
            file.write(b"".join(whole[9:]) + b"x" * 5000 + b"\n")
        with pytest.raises(LogCorrupt):
            await asyncio.wait_for(anext(lines), WAIT)


async def test_a_log_of_version_0_can_be_followed(tmp_path: Path) -> None:
    written = [
        b'{"type":"run_started","timestamp":"t","run_id":"r","payload":{"task":"x"}}\n',
        b'{"type":"run_completed","timestamp":"t","run_id":"r","payload":{"final_output":"y"}}\n',
    ]
    (tmp_path / "events.jsonl").write_bytes(b"".join(written))
    assert await follow(RunPaths(tmp_path)) == written
    assert await follow(RunPaths(tmp_path), 1) == written[1:]


async def test_a_directory_without_a_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await follow(RunPaths(tmp_path))


async def cancelled_while_waiting(paths: RunPaths) -> None:
    seen = asyncio.Event()

    async def consume() -> None:
        async with aclosing(follow_lines(paths)) as lines:
            async for line in lines:
                if decoded(line)["seq"] == 14:
                    seen.set()

    task = asyncio.ensure_future(consume())
    await asyncio.wait_for(seen.wait(), WAIT)
    for _ in range(10):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, WAIT)


async def closed_between_lines(paths: RunPaths) -> None:
    with paths.events.open("ab") as file:
        async with aclosing(follow_lines(paths)) as lines:
            for _ in range(15):
                await anext(lines)
            waiting = asyncio.ensure_future(anext(lines))
            await asyncio.sleep(0)
            file.write(b'{"seq":15,"type":"x","timestamp":"t","run_id":"r","payload":{},"epoch":1,"mac":""}\n')
            file.flush()
            await asyncio.wait_for(waiting, WAIT)


def committers() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("log-committer")}


@pytest.mark.parametrize("leave", [cancelled_while_waiting, closed_between_lines])
def test_followers_that_give_up_leave_no_threads_and_no_descriptors(
    leave: Callable[[RunPaths], Coroutine[None, None, None]], tmp_path: Path
) -> None:
    descriptors, threads = count_descriptors(), set(threading.enumerate())
    for number in range(12):
        asyncio.run(leave(filled_run(tmp_path, run_id=f"run_{number}")))
    for thread in set(threading.enumerate()) - threads - committers():
        thread.join(WAIT)
        assert not thread.is_alive(), thread
    end = time.monotonic() + WAIT
    while count_descriptors() >= descriptors + 12:  # a watch is closed by a thread of its own, a moment later
        assert time.monotonic() < end


async def no_watch_left(*_: object, **__: object) -> AsyncGenerator[None]:
    raise RuntimeError("Too many open files")
    yield


async def test_a_follower_is_served_although_the_system_has_no_watch_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchfiles, "awatch", no_watch_left)
    run = new_run(tmp_path)
    async with aclosing(follow_lines(run.paths)) as lines:
        for _ in range(2):
            await anext(lines)
        waiting = asyncio.ensure_future(anext(lines))
        await asyncio.sleep(0)
        run.append(RunCompleted(final_output="done"))
        assert decoded(await asyncio.wait_for(waiting, WAIT))["type"] == "run_completed"
    run.close()
