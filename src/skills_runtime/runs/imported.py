"""Runs that were brought here from elsewhere: nobody here chose what stands in their files."""

import hashlib

from skills_runtime.projections import RunState
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log import KeyRing, authenticate

IMPORTED = "imported.json"
"""In `archive/` of such a run: when it came, and by whom."""
CONFIG = "config.yaml"


def was_imported(paths: RunPaths) -> bool:
    """Whether somebody brought the run here from elsewhere."""
    return (paths.archive / IMPORTED).is_file()


def chosen_here(paths: RunPaths, state: RunState, keys: KeyRing) -> bool:
    """Whether the settings in a run directory are those that somebody on this machine began the run with.

    A directory that came by another way, as with a clone of a project, has no mark; but nobody elsewhere has the key.
    """
    if was_imported(paths) or keys.find(authenticate(paths, keys).position.key_id) is None:
        return False
    try:
        found = (paths.root / CONFIG).read_bytes()
    except OSError:
        return False
    return hashlib.sha256(found).hexdigest() == state.snapshots.get(CONFIG)
