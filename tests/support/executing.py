"""Somebody who executes a skill again and again, three at a time, until killed."""

import asyncio
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path
from typing import IO

from tests.unit.executions.samples import an_executor, find

AT_A_TIME = 3


def execute_until_killed(say: IO[bytes], hear: IO[bytes], root: Path, again: list[str], number: int) -> None:
    """Ask again for what nobody has answered yet, then for more; say each key when it is asked for, and its answer."""
    del hear
    asyncio.run(_work(say, root, chain(again, (f"{number}-{place}" for place in count()))))


async def _work(say: IO[bytes], root: Path, keys: Iterator[str]) -> None:
    async with an_executor(root, concurrent=AT_A_TIME) as executor:
        skill = find(root)

        async def one_after_another() -> None:
            while True:
                key = next(keys)
                say.write(f"asked {key}\n".encode())
                done = await executor.execute(skill, {"key": key}, key=key, timeout_ms=60_000)
                say.write(f"answered {key} {done.id} {done.status}\n".encode())

        await asyncio.gather(*(one_after_another() for _ in range(AT_A_TIME)))
