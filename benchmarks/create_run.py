"""Measure the CPU time of creating a complete run directory."""

import time

from benchmarks.fixture import directory, new_run
from benchmarks.measure import Number, report

RUNS = 200


def main() -> None:
    with directory() as base:
        new_run(base, "run_warm").close()
        begun = time.process_time()
        for number in range(RUNS):
            new_run(base, f"run_{number}").close()
        each = (time.process_time() - begun) / RUNS * 1000
    report(Number("create a run directory, CPU", each, "ms", 5, "at most"))


if __name__ == "__main__":
    main()
