"""What single programs do, as far as their words say it."""

from skills_runtime.safety.guard.programs.table import judge_for

__all__ = ["judge_for"]
