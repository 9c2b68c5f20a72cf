"""Whoever executes is killed again and again under load: what was answered stays, nothing happens twice or runs on."""

import asyncio
import random
import time
from pathlib import Path

from tests.support.children import Zygote, zygote
from tests.support.crashes import execute_until_killed
from tests.support.examples import examples
from tests.unit.executions.samples import an_executor, find, make_skill
from tests.unit.executions.test_executor_deadlines import sleeping

KILLS = examples(50)
SECONDS = "4719.5"
SCRIPT = f'read -r line; [ $((RANDOM % 4)) = 0 ] && sleep {SECONDS} & echo "$line"; sleep 0.01'
"""Some leave a process behind that would sleep for long."""


class Told:
    """What was asked, and what was answered."""

    def __init__(self) -> None:
        self.asked: dict[str, None] = {}
        self.answered: dict[str, tuple[str, str]] = {}
        self.twice: list[str] = []

    @property
    def unanswered(self) -> list[str]:
        return [key for key in self.asked if key not in self.answered]

    def hear(self, line: bytes) -> None:
        """Note a line; another answer to the same question would be wrong."""
        match line.decode().split():
            case ["asked", key]:
                self.asked[key] = None
            case ["answered", key, name, status]:
                if self.answered.setdefault(key, (name, status)) != (name, status):
                    self.twice.append(key)
            case other:
                raise AssertionError(other)


def until_killed(nursery: Zygote, root: Path, told: Told, number: int, lines: int) -> None:
    """Let somebody execute until so many lines were said, then kill them at once."""
    with nursery.child(execute_until_killed, root, told.unanswered, number) as child:
        for _ in range(lines):
            told.hear(child.line())
        child.kill()
        for line in child.hear.read().split(b"\n")[:-1]:  # what was said before the end
            told.hear(line)


async def test_nothing_answered_is_lost_and_nothing_happens_twice(tmp_path: Path) -> None:
    chance, told = random.Random(20261116), Told()
    make_skill(tmp_path, SCRIPT, runtime="shell")
    with zygote("tests.support.crashes", "skills_runtime.executions.executor") as nursery:
        for number in range(KILLS):
            await asyncio.to_thread(until_killed, nursery, tmp_path, told, number, chance.randrange(1, 12))
    assert not told.twice
    assert len(told.answered) > KILLS
    async with an_executor(tmp_path) as executor:
        records = await executor.list(limit=10_000)
        keys = [record.key_digest for record in records]
        assert len(keys) == len(set(keys))
        assert "running" not in {record.status for record in records}
        for key, (name, status) in told.answered.items():
            again = await executor.execute(find(tmp_path), {"key": key}, key=key)
            assert (again.id, again.status) == (name, status)
        assert len(await executor.list(limit=10_000)) == len(records)
    deadline = time.monotonic() + 60
    while sleeping(SECONDS) and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    assert not sleeping(SECONDS)
