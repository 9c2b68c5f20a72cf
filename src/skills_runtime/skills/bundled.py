"""The skills that come with the runtime: always there, read once per process.

A task uses one by naming it; the model is not offered them, so they cost no run anything.
"""

from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path

from skills_runtime.skills.library import BUNDLED_LEVEL, BUNDLED_SPACE
from skills_runtime.skills.sources.filesystem import FilesystemSource
from skills_runtime.skills.sources.source import Origin, Report

BUNDLED_NAMESPACE = "web:mvp"
"""The namespace of the bundled skills."""
_PACKAGE_ROOT = Path(__file__).resolve().parent.parent


def find_bundled_skills() -> Path:
    """Return the directory of the bundled skills: in the installed package, or in the source checkout."""
    installed = _PACKAGE_ROOT / "bundled_skills"
    with suppress(PermissionError):  # the package may be where this user cannot look
        if installed.is_dir():
            return installed
    return _PACKAGE_ROOT.parent.parent / "skills"


class BundledSource(FilesystemSource):
    """The bundled skills; they do not change while a process runs."""

    def skills(self) -> Report:
        """Return the bundled skills."""
        return self._report

    @cached_property
    def _report(self) -> Report:
        return super().skills()


@lru_cache(maxsize=1)
def bundled_source() -> BundledSource:
    """Return the source of the bundled skills, shared by all libraries of this process."""
    origin = Origin(BUNDLED_SPACE, BUNDLED_NAMESPACE, "skills-runtime", BUNDLED_LEVEL)
    return BundledSource(origin, find_bundled_skills())
