"""What commands tell of skills: those at a path, those of a library, and what is wrong with either."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skills_runtime.agent.skills.libraries import library_of
from skills_runtime.errors import EXIT_CODES, NotFound
from skills_runtime.skills.mentions import is_name, parse_mention, without_mention
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.sources.search import skill_directories
from skills_runtime.skills.standard.diagnostics import Diagnostic, Mode
from skills_runtime.skills.standard.directories import Inspected, inspect_directory

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

MAX_FILES = 200
"""How many files of a skill are listed."""


class Checked(msgspec.Struct, frozen=True):
    """A skill and everything found in it."""

    path: str
    name: str | None
    valid: bool
    diagnostics: Sequence[Diagnostic]


class FoundSkill(msgspec.Struct, frozen=True):
    """A skill somebody asked for; one of a library has a mention."""

    directory: Path
    inspected: Inspected
    mention: str | None = None


def checked_skills(paths: Iterable[Path], mode: Mode) -> list[Checked]:
    """Each skill that the paths stand for."""
    return [_checked(directory, mode) for path in paths for directory in skill_directories(path)]


def exit_code(reports: Iterable[Checked]) -> int:
    """What a program that asks us is told."""
    codes = {one.code for report in reports for one in report.diagnostics if one.severity == "error"}
    if "path_missing" in codes:
        return EXIT_CODES["not_found"]
    return EXIT_CODES["validation"] if codes else 0


def found_by_path(text: str) -> FoundSkill | None:
    """The skill at a path, or nothing where the text is not one."""
    path = Path(text)
    if path.name.lower() == "skill.md" and path.is_file():
        path = path.parent
    if not path.is_dir():
        if "/" in text and not text.startswith("$["):
            raise NotFound(f"there is no skill at `{path}`", hint="name the directory of a skill, or its name")
        return None
    inspected = inspect_directory(path, mode="lenient")
    if inspected.file is None and inspected.run is None:
        raise NotFound(f"`{path}` is not the directory of a skill", hint="a skill has a `SKILL.md`")
    return FoundSkill(Path(os.path.realpath(path)), inspected)


def found_by_name(text: str, resolved: "Resolved") -> FoundSkill:
    """The skill of the library that a mention or a name means."""
    library = library_of(resolved, looking=True)
    if text.startswith("$["):
        return _of_library(library.find(parse_mention(text)))
    return _of_library(library.find_by_name(text))


def described(found: FoundSkill) -> dict[str, Any]:
    """Everything that is known of a skill."""
    inspected, skill = found.inspected, found.inspected.skill
    return {
        "name": skill.name if skill else inspected.run.name if inspected.run else None,
        "description": skill.description if skill else inspected.run.description if inspected.run else None,
        "mention": found.mention,
        "directory": _text(str(found.directory)),
        "license": skill.license if skill else None,
        "compatibility": skill.compatibility if skill else None,
        "allowed_tools": list(skill.allowed_tools) if skill else [],
        "fields": dict(skill.other) if skill else {},
        "run": inspected.run,
        "body": {"lines": inspected.body.count("\n"), "characters": len(inspected.body)},
        "files": _files(found.directory),
        "diagnostics": list(inspected.diagnostics),
    }


def _checked(directory: Path, mode: Mode) -> Checked:
    inspected = inspect_directory(directory, mode=mode)
    valid = all(one.severity != "error" for one in inspected.diagnostics)
    name = inspected.skill.name if inspected.skill else None
    return Checked(_text(str(directory)), name, valid, inspected.diagnostics)


def _of_library(skill: Skill) -> FoundSkill:
    directory = skill.directory
    if directory is None:
        raise NotFound(f"`{skill.mention.text}` has no files to show", hint="only skills from files are shown")
    inspected = inspect_directory(directory, mode="lenient")
    if is_name(skill.name):
        return FoundSkill(directory, inspected, skill.mention.text)
    note = Diagnostic(code="name_without_mention", severity="info", message=without_mention(skill.name))
    noted = msgspec.structs.replace(inspected, diagnostics=(*inspected.diagnostics, note))
    return FoundSkill(directory, noted)


def _files(directory: Path) -> list[str]:
    """Its first files by name, links not followed."""
    files: list[str] = []
    for here, directories, names in os.walk(directory):
        directories[:] = sorted(name for name in directories if name not in (".git", "node_modules", "__pycache__"))
        files += [_text(os.path.relpath(os.path.join(here, name), directory)) for name in sorted(names)]
        if len(files) >= MAX_FILES:
            break
    return files[:MAX_FILES]


def _text(path: str) -> str:
    """A path as text that can be written, whatever its bytes are."""
    return os.fsencode(path).decode(errors="backslashreplace")
