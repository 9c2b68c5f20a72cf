"""Assess single programs by their arguments."""

from skills_runtime.safety.guard.programs.table import find_assessor

__all__ = ["find_assessor"]
