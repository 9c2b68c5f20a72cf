"""Patches: what one says, where it fits, and the files it makes."""

from skills_runtime.tools.patch.hunks import patched
from skills_runtime.tools.patch.parse import AddFile, DeleteFile, Hunk, Line, Section, UpdateFile, parse_patch
from skills_runtime.tools.patch.plan import Change, Plan, make_plan, paths_to_read

__all__ = [
    "AddFile",
    "Change",
    "DeleteFile",
    "Hunk",
    "Line",
    "Plan",
    "Section",
    "UpdateFile",
    "make_plan",
    "parse_patch",
    "patched",
    "paths_to_read",
]
