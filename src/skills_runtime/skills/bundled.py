"""The skills that come with the runtime, and where they are."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent

NAMESPACE = "web:mvp"
"""The namespace they are mentioned under unless somebody configures another one."""


def bundled_skills() -> Path:
    """The directory of the bundled skills: inside the installed package, or in the checkout it is run from."""
    installed = _PACKAGE / "bundled_skills"
    return installed if installed.is_dir() else _PACKAGE.parent.parent / "skills"
