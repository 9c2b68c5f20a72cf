"""Validating, as the reference library offers it."""

from pathlib import Path

from skills_runtime.skills.standard import validate_directory


def validate(skill_dir: Path) -> list[str]:
    """What is wrong with a skill."""
    return [
        diagnostic.message
        for diagnostic in validate_directory(Path(skill_dir), mode="strict")
        if diagnostic.severity == "error"
    ]
