"""Functions in threads: what they return, and that nobody waits for one that is not wanted any more."""

import asyncio
import contextvars
import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest

from skills_runtime.tools.function import in_thread

BOUND = 30
"""Far more than anything here takes; only a hang is longer."""


def _double(*, number: int) -> int:
    return number * 2


def _ignore(*, thing: object) -> None:
    pass


async def test_what_the_function_returns_comes_back() -> None:
    assert await in_thread(_double, number=3) == 6


async def test_the_function_runs_in_another_thread_that_blocks_no_other() -> None:
    thread = await in_thread(threading.current_thread)
    assert thread is not threading.current_thread()
    assert thread.daemon


@pytest.mark.parametrize("error", [ValueError("no"), KeyError("x"), SystemExit(3)])
async def test_what_the_function_raises_is_raised_here(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        await in_thread(fail)
    assert caught.value is error


async def test_a_stop_iteration_is_an_error_like_others() -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        await in_thread(lambda: next(iter(())))


async def test_context_variables_go_along() -> None:
    name = contextvars.ContextVar("name", default="nobody")
    name.set("somebody")
    assert await in_thread(name.get) == "somebody"


async def test_many_functions_run_at_the_same_time() -> None:
    meeting = threading.Barrier(40)
    await asyncio.wait_for(asyncio.gather(*(in_thread(meeting.wait, timeout=BOUND) for _ in range(40))), BOUND)


async def test_threads_are_used_again() -> None:
    assert len({await in_thread(threading.get_ident) for _ in range(20)}) == 1


async def test_a_cancelled_call_returns_at_once_and_what_the_function_returns_is_dropped() -> None:
    begun, released, ended = threading.Event(), threading.Event(), threading.Event()

    def hang() -> str:
        begun.set()
        released.wait(BOUND)
        ended.set()
        return "late"

    call = asyncio.create_task(in_thread(hang))
    await in_thread(begun.wait, timeout=BOUND)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(call, BOUND)
    assert not ended.is_set()
    released.set()
    assert await in_thread(ended.wait, timeout=BOUND)


def test_an_event_loop_is_closed_while_a_thread_still_runs() -> None:
    begun, released, ended = threading.Event(), threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        released.wait(BOUND)
        ended.set()

    async def leave() -> None:
        call = asyncio.create_task(in_thread(hang))
        await in_thread(begun.wait, timeout=BOUND)
        call.cancel()

    asyncio.run(leave())
    assert not ended.is_set()
    released.set()
    assert ended.wait(BOUND)


def test_what_a_call_held_is_let_go_of() -> None:
    class Thing:
        """Something that can be watched."""

    thing = Thing()
    watched = weakref.ref(thing)
    asyncio.run(in_thread(_ignore, thing=thing))
    asyncio.run(in_thread(lambda: None))
    del thing
    gc.collect()
    assert watched() is None


EXITING = """
import asyncio, threading
from skills_runtime.tools.function import in_thread

async def main():
    begun = threading.Event()
    def hang():
        begun.set()
        threading.Event().wait()
    call = asyncio.create_task(in_thread(hang))
    await in_thread(begun.wait)
    call.cancel()

asyncio.run(main())
print("left")
"""


def test_the_interpreter_ends_while_a_thread_still_runs() -> None:
    done = subprocess.run([sys.executable, "-c", EXITING], capture_output=True, timeout=BOUND, check=True)
    assert done.stdout.decode().strip() == "left"


def test_a_process_that_was_forked_has_threads_of_its_own() -> None:
    asyncio.run(in_thread(threading.get_ident))
    child = os.fork()
    if child == 0:
        os._exit(asyncio.run(in_thread(lambda: 7)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
