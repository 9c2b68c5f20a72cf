"""Measure the CPU time of analyzing a command: the average of the corpus, and the worst accepted one."""

import time

from benchmarks.measure import Number, report
from skills_runtime.safety.guard import read_line
from tests.unit.safety.guard.corpus import ROWS

# The best round counts: other work on the machine only makes rounds slower.
ROUNDS = 5
WORST = ("[[ a =~ (" * 450, "a=(" * 900, "env " * 16_000 + "ls", "a && " * 12_000 + "b", "a | " * 900 + "sh")


def average() -> float:
    begun = time.process_time()
    for row in ROWS:
        read_line(row.line)
    return (time.process_time() - begun) * 1000 / len(ROWS)


def worst() -> float:
    took: list[float] = []
    for line in WORST:
        begun = time.process_time()
        read_line(line)
        took.append((time.process_time() - begun) * 1000)
    return max(took)


def main() -> None:
    average()  # the parser is made once
    report(
        Number("guard, average command of the corpus", min(average() for _ in range(ROUNDS)), "ms", 0.3, "at most"),
        Number("guard, worst line of 64 KiB", worst(), "ms", 1_000, "at most"),
    )


if __name__ == "__main__":
    main()
