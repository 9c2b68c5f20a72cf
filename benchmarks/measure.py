"""Measure CPU time and peak memory of processes, and compare numbers with bounds."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Number:
    """One measured value and the bound it must keep."""

    what: str
    value: float
    unit: str
    bound: float
    sense: Literal["at most", "at least"]

    @property
    def holds(self) -> bool:
        return self.value <= self.bound if self.sense == "at most" else self.value >= self.bound


def report(*numbers: Number) -> None:
    """Send the numbers of one benchmark to its starter."""
    print(json.dumps([asdict(number) for number in numbers]))


def run_benchmark(module: str) -> list[Number]:
    """Run `benchmarks.<module>` in a fresh process."""
    done = subprocess.run([sys.executable, "-m", f"benchmarks.{module}"], check=True, stdout=subprocess.PIPE, text=True)
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return [Number(**row) for row in rows]


def cpu_of(*command: str) -> tuple[float, float]:
    """Return CPU seconds and peak resident megabytes of one command."""
    # A user's second start finds compiled modules; a machine that forbids writing them would measure the compiler.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = os.posix_spawn(command[0], command, environment)
    _, status, usage = os.wait4(process, 0)
    if status != 0:
        raise SystemExit(f"{command} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
