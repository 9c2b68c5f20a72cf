"""CPU of a process that imports the agent and does nothing else."""

import sys

from benchmarks.measure import Number, cpu_of, report


def main() -> None:
    nothing = min(cpu_of(sys.executable, "-c", "")[0] for _ in range(5))
    whole = min(cpu_of(sys.executable, "-c", "import skills_runtime.agent") for _ in range(7))
    _, memory = min(cpu_of(sys.executable, "-c", "import skills_runtime.agent") for _ in range(3))
    report(
        Number("import skills_runtime.agent, CPU", (whole[0] - nothing) * 1000, "ms", 150, "at most"),
        Number("memory of an imported agent", memory, "MB", 45, "at most"),
    )


if __name__ == "__main__":
    main()
