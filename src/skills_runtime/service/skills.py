"""Skills as the HTTP service shows them: those that can be executed by name, and one with all that a page shows.

The directory of executable skills is looked at anew whenever somebody asks; the text of a skill is changed only where
it belongs to the workspace.
"""

import hashlib
import os
import threading
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.errors import AccessRefused, NotFound, RequestConflict, StorageFailed, ValidationFailed
from skills_runtime.skills import FilesystemSource, Library, Origin, Problem, ScanOptions, Skill, SkillError
from skills_runtime.skills.configured import bundled_skills
from skills_runtime.skills.scan import scan_directory
from skills_runtime.skills.scan_report import jsonable
from skills_runtime.skills.scripts import entry_of
from skills_runtime.skills.sources import IndexedSource
from skills_runtime.skills.standard.directories import Inspected, inspect_directory
from skills_runtime.skills.standard.parse import parse_skill
from skills_runtime.skills.standard.skill_yaml import FILE_NAME as RUN_FILE
from skills_runtime.storage import open_directory, read_below, walk, write_atomic

NAMESPACE = "local"
DEPTH = 1
"""A skill is a directory in the directory of skills, and nothing deeper."""
MAX_FILES = 500
MAX_TEXT = 1 << 20
INPUT_SCHEMA = "input.schema.json"
"""Beside `skill.yaml`: the JSON schema of what the skill reads."""
_SKIPPED = (".git", "node_modules", "__pycache__")
_MAX_READ = 16 << 20
_WRITING = threading.Lock()


class Listing(msgspec.Struct, frozen=True):
    """The skills that can be executed, and what is wrong with others."""

    skills: tuple[Skill, ...]
    errors: tuple[str, ...]


class SkillRegistry:
    """Executable skills below one directory; a new or changed one is seen at once, by every worker alike."""

    def __init__(self, root: Path) -> None:
        files = FilesystemSource(Origin(NAMESPACE, NAMESPACE, "skills-dir"), root, ScanOptions(max_depth=DEPTH))
        self._source = IndexedSource(files, None)

    def listing(self) -> Listing:
        """Everything there is now, by the names of the directories."""
        found = self._found()
        ready, errors = list[Skill](), list(found.errors)
        for skill in found.skills:
            try:
                entry_of(skill)
            except SkillError as error:
                errors.append(f"{_directory_name(skill)}: {error.message}")
            else:
                ready.append(skill)
        return Listing(tuple(ready), tuple(sorted(errors)))

    def _found(self) -> Listing:
        """All definitions, each of which may still lack its program."""
        report = self._source.skills()
        first: dict[str, Skill] = {}
        errors = [_told(problem) for problem in report.problems if _concerns_execution(problem)]
        for skill in sorted(report.skills, key=_directory_name):
            if skill.run is None:
                continue
            known = first.setdefault(skill.run.name, skill)
            if known is not skill:
                errors.append(f"{_directory_name(skill)}: the name `{skill.run.name}` is that of another skill already")
        return Listing(tuple(first.values()), tuple(errors))

    def find(self, name: str) -> Skill | None:
        """The skill of this name: as its `skill.yaml` says it, or as a mention such as `$[local].name`.

        One without a program is found too: whoever executes it is told what it lacks.
        """
        wanted = name.removeprefix(f"$[{NAMESPACE}].")
        for skill in self._found().skills:
            if skill.run is not None and skill.run.name == wanted:
                return skill
        return None


def _directory_name(skill: Skill) -> str:
    return skill.directory.name if skill.directory else skill.name


def _concerns_execution(problem: Problem) -> bool:
    """Whether somebody meant the directory to be executed; others are no business of whoever executes skills."""
    about_skill = problem.code == "SKILL_SCAN_METADATA_INVALID"
    return problem.severity != "notice" and (not about_skill or os.path.lexists(Path(problem.locator, RUN_FILE)))


def _told(problem: Problem) -> str:
    message = problem.message.removeprefix("the skill cannot be used: ")
    return f"{problem.name or Path(problem.locator).name}: {message}"


def why_not_editable(skill: Skill, workspace: Path) -> str:
    """Why the text of a skill is not changed here, or nothing where it may be."""
    path = skill.path
    if path is None:
        return "the skill does not come from a file"
    real, root = Path(os.path.realpath(path)), Path(os.path.realpath(workspace))
    if not real.is_relative_to(root):
        return "the skill is not in this workspace"
    if real.is_relative_to(Path(os.path.realpath(bundled_skills()))):
        return "the skill comes with the runtime; copy it under another name to change it"
    if not os.access(real, os.W_OK):
        return "the file of the skill may not be written"
    return ""


def described(library: Library, skill: Skill, workspace: Path) -> dict[str, Any]:
    """Everything that is known of a skill."""
    directory = skill.directory
    inspected = inspect_directory(directory, mode="lenient") if directory is not None else Inspected()
    properties = inspected.skill
    reason = why_not_editable(skill, workspace)
    files = _files(directory) if directory is not None else []
    return {
        "name": skill.name,
        "mention": skill.mention.text,
        "description": skill.description,
        "namespace": skill.namespace,
        "source": skill.source_id,
        "path": skill.locator,
        "directory": str(directory) if directory is not None else None,
        "state": "offered" if skill.mention in {one.mention for one in library.list()} else "shadowed",
        "editable": not reason,
        "editable_reason": reason,
        "content_hash": skill.content_hash,
        "text": _text(skill),
        "front_matter": jsonable(properties.other) if properties else jsonable(skill.metadata),
        "body": inspected.body if inspected.file else library.body(skill) if directory is None else "",
        "allowed_tools": list(properties.allowed_tools) if properties else [],
        "license": properties.license if properties else None,
        "compatibility": properties.compatibility if properties else None,
        "required_env_vars": list(skill.required_env_vars),
        "files": files[:MAX_FILES],
        "files_truncated": len(files) > MAX_FILES,
        "diagnostics": msgspec.to_builtins(inspected.diagnostics),
        "security": msgspec.to_builtins(scan_directory(directory)) if directory is not None else None,
        "run": msgspec.to_builtins(skill.run) if skill.run is not None else None,
        "input_schema": _input_schema(directory) if directory is not None and skill.run is not None else None,
    }


def change_text(skill: Skill, text: str, *, seen: str, workspace: Path) -> None:
    """Put another text in the place of the one that was seen; the skill must stay a skill, and keep its name."""
    if reason := why_not_editable(skill, workspace):
        raise AccessRefused(f"`{skill.mention.text}` is not changed here: {reason}", hint="make a skill of your own")
    assert skill.path is not None, "an editable skill has a file"
    data = _checked(skill, text)
    place = Path(os.path.realpath(skill.path))
    with _WRITING:  # of two who have seen the same text only one changes it
        if _digest(place) != seen:
            raise RequestConflict(f"`{skill.mention.text}` was changed meanwhile", hint="look at it again")
        _replace(place, data)


def read_file(skill: Skill, parts: tuple[str, ...]) -> bytes:
    """The first part of a file of a skill; no link is followed."""
    if skill.directory is None:
        raise NotFound("the skill has no files")
    try:
        with open_directory(skill.directory) as top:
            return read_below(top, parts, limit=MAX_TEXT)
    except OSError:
        raise NotFound(f"the skill has no file {'/'.join(parts)[:200]!a}") from None


def _checked(skill: Skill, text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise ValidationFailed("the skill is not valid text", hint="correct its encoding") from None
    parsed = parse_skill(data, mode="lenient", directory_name=skill.directory.name if skill.directory else None)
    wrong = [one for one in parsed.diagnostics if one.severity == "error"]
    if wrong or parsed.skill is None:
        message = wrong[0].message if wrong else "this is not the text of a skill"
        raise ValidationFailed(message, details={"diagnostics": msgspec.to_builtins(parsed.diagnostics)})
    if parsed.skill.name != skill.name:
        raise ValidationFailed(f"the skill must keep its name `{skill.name}`", hint="make a new skill instead")
    return data


def _digest(place: Path) -> str:
    """The digest of what is in a plain file now; nothing where there is none, or one that is no text of a skill."""
    try:
        with open_directory(place.parent) as top:
            return hashlib.sha256(read_below(top, (place.name,), limit=_MAX_READ)).hexdigest()
    except OSError:
        return ""


def _replace(place: Path, data: bytes) -> None:
    try:
        write_atomic(place, data, mode=place.stat().st_mode & 0o777)
    except OSError as error:
        raise StorageFailed(f"the skill could not be written: {error.strerror}") from error


def _text(skill: Skill) -> str:
    if skill.path is None:
        return ""
    try:
        with open(skill.path, "rb") as file:
            return file.read(MAX_TEXT).decode(errors="replace")
    except OSError:
        return ""


def _input_schema(directory: Path) -> dict[str, Any] | None:
    """The schema of what a skill reads, if it brings one along that is an object."""
    try:
        with open_directory(Path(os.path.realpath(directory))) as top:
            return msgspec.json.decode(read_below(top, (INPUT_SCHEMA,), limit=MAX_TEXT), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError):
        return None


def _files(directory: Path) -> list[dict[str, Any]]:
    """Its files by name, links not followed; one more than is shown where there are more."""
    with open_directory(directory.resolve()) as top:
        entries = walk(top, enter=lambda entry: entry.name not in _SKIPPED, on_error=lambda _, __: None)
        return [
            {"path": os.fsencode(entry.path).decode(errors="backslashreplace"), "size": entry.status.st_size}
            for entry in islice((one for one in entries if not one.is_directory), MAX_FILES + 1)
        ]
