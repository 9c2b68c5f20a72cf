"""Measure appends per second: one writer without syncs, and 64 producers that wait until theirs are durable."""

import asyncio
import time

from benchmarks.fixture import FINISHED, directory, new_run
from benchmarks.measure import Number, report
from skills_runtime.runs import Run

EVENTS = 100_000
# The best round counts: other work on the machine only makes rounds slower.
ROUNDS = 3
PRODUCERS = 64
EACH = 100


def unsynced(run: Run) -> float:
    begun = time.process_time()
    for _ in range(EVENTS):
        run.log.append(FINISHED, turn_id="turn_1", step_id="step_1")
    return EVENTS / (time.process_time() - begun)


async def durable(run: Run) -> float:
    async def produce() -> None:
        for _ in range(EACH):
            run.log.append(FINISHED, turn_id="turn_1", step_id="step_1")
            await run.log.commit_async()

    await run.log.commit_async()
    start = time.perf_counter()
    await asyncio.gather(*(produce() for _ in range(PRODUCERS)))
    return PRODUCERS * EACH / (time.perf_counter() - start)


def main() -> None:
    with directory() as base:
        first, second = new_run(base, "run_a"), new_run(base, "run_b")
        plain = max(unsynced(first) for _ in range(ROUNDS))
        grouped = asyncio.run(durable(second))
        first.close()
        second.close()
    report(
        Number("append, one writer, events per CPU second", plain, "/s", 100_000, "at least"),
        Number("append, durable, 64 producers", grouped, "/s", 3_000, "at least"),
    )


if __name__ == "__main__":
    main()
