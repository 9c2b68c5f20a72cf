"""Runs that were brought here from elsewhere: nobody here chose what stands in their files."""

from skills_runtime.runs.layout import RunPaths

IMPORTED = "imported.json"
"""In `archive/` of such a run: when it came, and by whom."""


def was_imported(paths: RunPaths) -> bool:
    """Whether somebody brought the run here from elsewhere."""
    return (paths.archive / IMPORTED).is_file()
