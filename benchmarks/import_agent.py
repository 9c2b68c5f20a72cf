"""CPU of a process that imports the agent and does nothing else, beside a peer that is imported in the same run."""

import sys

from benchmarks.measure import Number, cpu_of, report
from benchmarks.peer import peer_python


def import_cpu(python: str, code: str) -> float:
    """CPU seconds that an import adds to an interpreter that does nothing."""
    nothing = min(cpu_of(python, "-c", "")[0] for _ in range(5))
    return min(cpu_of(python, "-c", code)[0] for _ in range(7)) - nothing


def main() -> None:
    ours = import_cpu(sys.executable, "import skills_runtime.agent")
    peer = import_cpu(peer_python(), "from agent_framework import Agent")
    _, memory = min(cpu_of(sys.executable, "-c", "import skills_runtime.agent") for _ in range(3))
    report(
        Number("import skills_runtime.agent, CPU", ours * 1000, "ms", 150, "at most"),
        Number("import, over that of agent-framework-core", ours / peer, "x", 0.8, "at most"),
        Number("memory of an imported agent", memory, "MB", 45, "at most"),
    )


if __name__ == "__main__":
    main()
