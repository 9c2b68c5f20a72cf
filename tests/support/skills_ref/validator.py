"""Validate skills with the API of the reference library."""

from pathlib import Path

from skills_runtime.skills.standard import validate_directory


def validate(skill_dir: Path) -> list[str]:
    """Return the problems of a skill."""
    return [
        diagnostic.message
        for diagnostic in validate_directory(Path(skill_dir), mode="strict")
        if diagnostic.severity == "error"
    ]
