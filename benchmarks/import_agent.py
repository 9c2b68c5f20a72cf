"""Measure the CPU time of importing the agent, next to that of a peer package."""

import sys

from benchmarks.measure import Number, cpu_of, report
from benchmarks.peer import peer_python

OURS = (sys.executable, "import skills_runtime.agent")
PEER = "from agent_framework import Agent"
TIMES = 9


def main() -> None:
    peer = (peer_python(), PEER)
    # Taken in turns, so that a machine that becomes slower or quicker meanwhile changes both.
    taken = [[cpu_of(python, "-c", code) for python, code in (OURS, peer, (sys.executable, ""))] for _ in range(TIMES)]
    ours, theirs, nothing = (min(cpu for cpu, _ in column) for column in zip(*taken, strict=True))
    report(
        Number("import skills_runtime.agent, CPU", (ours - nothing) * 1000, "ms", 150, "at most"),
        Number("import, over that of agent-framework-core", (ours - nothing) / (theirs - nothing), "x", 0.8, "at most"),
        Number("memory of an imported agent", min(row[0][1] for row in taken), "MB", 45, "at most"),
    )


if __name__ == "__main__":
    main()
