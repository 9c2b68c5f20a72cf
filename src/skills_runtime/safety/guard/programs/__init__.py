"""What single programs do, as far as their words say it."""

from skills_runtime.safety.guard.programs.table import find_assessor

__all__ = ["find_assessor"]
