"""Parse skills with the API of the reference library."""

from pathlib import Path
from typing import Any

from skills_runtime.skills.standard import Parsed, find_skill_file, parse_skill

from .errors import ParseError, SkillError, ValidationError
from .models import SkillProperties

__all__ = [
    "ParseError",
    "SkillError",
    "SkillProperties",
    "ValidationError",
    "find_skill_md",
    "parse_frontmatter",
    "read_properties",
]

_MISSING = ("name_missing", "description_missing", "name_type", "description_type")


def find_skill_md(skill_dir: Path) -> Path | None:
    """Return the skill file of a directory."""
    return find_skill_file(Path(skill_dir))


def parse_frontmatter(content: str) -> tuple[dict[str, Any], str]:
    """Return the fields and the body of a file."""
    data = content.encode()
    parsed = _readable(parse_skill(data, mode="strict"))
    return dict(parsed.fields or {}), data[parsed.body_start :].decode().strip()


def read_properties(skill_dir: Path) -> SkillProperties:
    """Return the fields of a skill that has both required ones."""
    file = find_skill_md(skill_dir)
    if file is None:
        raise ParseError(f"SKILL.md not found in {skill_dir}")
    data = file.read_bytes()
    for diagnostic in _readable(parse_skill(data, mode="strict")).diagnostics:
        if diagnostic.code in _MISSING:
            raise ValidationError(diagnostic.message)
    skill = parse_skill(data, mode="lenient").skill
    assert skill is not None, "what has a name and a description is a skill"
    return SkillProperties(
        name=skill.name,
        description=skill.description,
        license=skill.license,
        compatibility=skill.compatibility,
        allowed_tools=" ".join(skill.allowed_tools) or None,
        metadata=dict(skill.metadata),
    )


def _readable(parsed: Parsed) -> Parsed:
    if parsed.fields is None:
        raise ParseError(
            next(diagnostic.message for diagnostic in parsed.diagnostics if diagnostic.severity == "error")
        )
    return parsed
