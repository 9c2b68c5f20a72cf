"""Measure the CPU time of one policy decision: a command is parsed and assessed, and the rules decide."""

import time

from benchmarks.measure import Number, report
from skills_runtime.ports import Intent, ToolSpec
from skills_runtime.safety.guard import assess
from skills_runtime.safety.policy import Rules, decide
from tests.unit.safety.guard.corpus import ROWS

SHELL = ToolSpec(name="shell_command", description="", parameters={})
RULES = Rules(allowlist=("echo", "cat", "git", "pytest"), denylist=("sudo",), root="/workspace")
ROUNDS = 5


def measure() -> float:
    """Return the milliseconds of an average command of the corpus."""
    begun = time.process_time()
    for row in ROWS:
        decide(assess(SHELL, Intent(line=row.line)), RULES)
    return (time.process_time() - begun) / len(ROWS) * 1000


def main() -> None:
    measure()  # the parser is made once
    report(
        Number("guard and policy, an average command, CPU", min(measure() for _ in range(ROUNDS)), "ms", 1.0, "at most")
    )


if __name__ == "__main__":
    main()
