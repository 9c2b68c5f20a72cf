"""What single programs do, as far as their words say it."""

from skills_runtime.safety.guard.judges.table import judge_for

__all__ = ["judge_for"]
