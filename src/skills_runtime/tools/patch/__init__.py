"""Patches: parse them, locate their hunks and plan the changed files."""

from skills_runtime.tools.patch.apply import Change, Plan, apply_hunks, build_plan, paths_to_read
from skills_runtime.tools.patch.parse import AddFile, DeleteFile, Hunk, Line, Section, UpdateFile, parse_patch

__all__ = [
    "AddFile",
    "Change",
    "DeleteFile",
    "Hunk",
    "Line",
    "Plan",
    "Section",
    "UpdateFile",
    "apply_hunks",
    "build_plan",
    "parse_patch",
    "paths_to_read",
]
