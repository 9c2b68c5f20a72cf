"""Opening a run of one gigabyte to go on with it, compacted or not: time and memory of a fresh process."""

import sys
import time
from pathlib import Path

from benchmarks.fixture import FINISHED, directory, new_run
from benchmarks.measure import Number, cpu_of, report
from skills_runtime.events.payloads import (
    ContextCompacted,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    RunStarted,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)
from skills_runtime.events.states import RunStatus
from skills_runtime.runs import KeyRing, LogPorts, open_run

GIGABYTE = 1_000_000_000
COMPACT_EVERY = 50
"""Turns of 80 kB each: a context of four megabytes, more than any model takes."""
DELTA = LlmResponseDelta(delta_type="text", text="y" * 4000)


def write_gigabyte(base: Path, *, compact_every: int | None) -> Path:
    """A log of a very long run: turns of a streamed answer and a call with its result."""
    run = new_run(base)
    run.change(RunStatus.RUNNING)
    run.append(RunStarted(task="a long task"))
    turn = 0
    while run.log.position.offset < GIGABYTE:
        turn += 1
        turn_id, call_id = f"turn_{turn}", f"call_{turn}"
        run.append(LlmRequestStarted(model="m"), turn_id=turn_id)
        for _ in range(20):
            run.append(DELTA, turn_id=turn_id)
        run.append(ToolCallRequested(call_id=call_id, tool="file_read", name="file_read"), turn_id=turn_id)
        run.append(LlmResponseFinished(finish_reason="tool_calls", calls=[call_id]), turn_id=turn_id)
        run.append(ToolCallStarted(call_id=call_id, tool="file_read", effect="read"))
        run.append(ToolCallFinished(call_id=call_id, tool="file_read", result=FINISHED.result))
        if compact_every and turn % compact_every == 0:
            run.append(ContextCompacted(summary="z" * 4000, kept_messages=6))
        run.commit()
    run.close()
    return run.paths.root


def resume(root: Path, base: Path) -> None:
    """What the fresh process does."""
    run = open_run(root, LogPorts(keys=KeyRing(base / "keys")))
    assert run.state.status is RunStatus.RUNNING
    run.close()


def main() -> None:
    if len(sys.argv) == 3:
        resume(Path(sys.argv[1]), Path(sys.argv[2]))
        return
    report(*measure("a compacted 1 GB log", compact_every=COMPACT_EVERY))


def measure(what: str, *, compact_every: int | None) -> tuple[Number, Number]:
    """Write the log, then open it in a process of its own."""
    with directory() as base:
        begun = time.perf_counter()
        root = write_gigabyte(base, compact_every=compact_every)
        print(f"  wrote 1 GB in {time.perf_counter() - begun:.0f} s", file=sys.stderr)
        seconds, memory = cpu_of(sys.executable, "-m", "benchmarks.resume_large", str(root), str(base))
    return (
        Number(f"open and fold {what} for resume, CPU", seconds, "s", 2, "at most"),
        Number("memory of that process", memory, "MB", 100, "at most"),
    )


if __name__ == "__main__":
    main()
