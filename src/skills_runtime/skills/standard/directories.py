"""Skill directories: find the skill file, validate it, read its properties."""

import os
import stat
from collections.abc import Collection
from pathlib import Path

import msgspec

from skills_runtime.skills.problems import failure
from skills_runtime.skills.skill import RunDefinition
from skills_runtime.skills.standard import skill_yaml as running
from skills_runtime.skills.standard.diagnostics import Diagnostic, Mode, diagnose
from skills_runtime.skills.standard.parse import Parsed, Properties, parse_skill
from skills_runtime.skills.standard.skill_yaml import parse_run
from skills_runtime.skills.standard.specification import quote
from skills_runtime.storage import error_reason, open_directory, read_below

FILE_NAME = "SKILL.md"
MAX_FILE_BYTES = 16 << 20
"""Maximum size of a skill file."""
RECOMMENDED_LINES = 500


class InspectedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill directory with its diagnostics."""

    skill: Properties | None = None
    run: RunDefinition | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    file: Path | None = None
    body: str = ""


def find_skill_file(directory: Path) -> Path | None:
    """Find the skill file of a directory; the exact name `SKILL.md` takes precedence."""
    name = pick_skill_file(_names(directory))
    return directory / name if name else None


def pick_skill_file(names: Collection[str]) -> str | None:
    """Pick the skill file among the names of a directory."""
    if FILE_NAME in names:
        return FILE_NAME
    return min(
        (name for name in names if len(name) == len(FILE_NAME) and name.lower() == FILE_NAME.lower()), default=None
    )


def validate_directory(path: Path, *, mode: Mode = "strict") -> list[Diagnostic]:
    """Return all diagnostics of the skill in a directory."""
    return list(inspect_directory(path, mode=mode).diagnostics)


def read_properties(path: Path, *, mode: Mode = "lenient") -> Properties:
    """Read the properties of the skill in a directory; raise `SkillError` if it is invalid."""
    inspected = inspect_directory(path, mode=mode)
    if inspected.skill is None:
        first = next((diagnostic for diagnostic in inspected.diagnostics if diagnostic.severity == "error"), None)
        message = first.message if first else f"{FILE_NAME} not found in {path}"
        hint = first.hint if first else "a skill that only runs has no properties to read"
        raise failure("SKILL_SCAN_METADATA_INVALID", message, hint=hint)
    return inspected.skill


def inspect_directory(path: Path, *, mode: Mode) -> InspectedSkill:
    """Read a directory as a skill."""
    try:
        is_directory = stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError):
        return InspectedSkill(diagnostics=(diagnose("path_missing", mode, f"the path does not exist: {path}"),))
    if not is_directory:
        return InspectedSkill(diagnostics=(diagnose("not_a_directory", mode, f"Not a directory: {path}"),))
    directory = Path(os.path.realpath(path))
    names = _names(directory)
    definition, about_run = _run(directory, names, mode)
    file = pick_skill_file(names)
    if file is None:
        needed = mode == "strict" or running.RUN_FILE not in names
        missing = (diagnose("file_missing", mode, f"Missing required file: {FILE_NAME}"),) if needed else ()
        return InspectedSkill(run=definition, diagnostics=(*missing, *about_run))
    parsed, body = _parse_file(directory, file, mode)
    mismatch: list[Diagnostic] = []
    if parsed.skill is not None and definition is not None and parsed.skill.name != definition.name:
        mismatch.append(disagreement(parsed.skill.name, definition.name, mode))
    return InspectedSkill(
        skill=parsed.skill,
        run=definition,
        diagnostics=(*parsed.diagnostics, *about_run, *mismatch),
        file=directory / file,
        body=body,
    )


def misnamed(file: str, mode: Mode) -> Diagnostic:
    """Build the diagnostic for a file whose name is almost `SKILL.md`."""
    return diagnose("file_name", mode, f"Missing required file: {FILE_NAME}; {quote(file)} is taken for it")


def _names(directory: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in directory.iterdir())
    except OSError:
        return []


def _parse_file(directory: Path, file: str, mode: Mode) -> tuple[Parsed, str]:
    """Parse the skill file and return its body too; links are followed, since the user named the path."""
    path = Path(os.path.realpath(directory / file))
    try:
        with open_directory(path.parent) as top:
            data = read_below(top, (path.name,), limit=MAX_FILE_BYTES + 1)
    except OSError as error:
        fault = diagnose("file_unreadable", mode, f"`{file}` cannot be read: {error_reason(error)}")
        return Parsed(skill=None, diagnostics=(fault,)), ""
    parsed = parse_skill(data, mode=mode, directory_name=directory.name, max_bytes=1 << 20)
    body = data[parsed.body_start :]
    extra = [] if file == FILE_NAME else [misnamed(file, mode)]
    if parsed.fields is not None:
        lines = body.count(b"\n")
        if lines > RECOMMENDED_LINES:
            message = f"the body has {lines} lines; more than {RECOMMENDED_LINES} are a burden on every context"
            extra.append(diagnose("body_long", mode, message))
        try:
            if len(body) < MAX_FILE_BYTES:
                body.decode()
        except UnicodeDecodeError as error:
            extra.append(diagnose("body_not_utf8", mode, f"byte {error.start} of the body is not UTF-8"))
    diagnostics = (*parsed.diagnostics, *extra)
    usable = all(diagnostic.severity != "error" for diagnostic in extra)
    return msgspec.structs.replace(
        parsed, skill=parsed.skill if usable else None, diagnostics=diagnostics
    ), body.decode(errors="replace")


def _run(directory: Path, names: list[str], mode: Mode) -> tuple[RunDefinition | None, tuple[Diagnostic, ...]]:
    if running.RUN_FILE not in names:
        return None, ()
    try:
        with open_directory(directory) as top:
            data = read_below(top, (running.RUN_FILE,), limit=running.MAX_BYTES + 1)
    except OSError as error:
        return None, (diagnose("file_unreadable", mode, f"`{running.RUN_FILE}` cannot be read: {error_reason(error)}"),)
    definition, diagnostics = parse_run(data, mode=mode)
    if definition is not None and not any(entry in names for entry in running.ENTRIES[definition.runtime]):
        entries = " or ".join(f"`{entry}`" for entry in running.ENTRIES[definition.runtime])
        diagnostics = (*diagnostics, diagnose("run_entry_missing", mode, f"there is no {entries} to run"))
    return definition, diagnostics


def disagreement(name: str, run_name: str, mode: Mode) -> Diagnostic:
    """Build the diagnostic for two files that give a skill different names."""
    message = f"`{running.RUN_FILE}` calls the skill {quote(run_name)}, `{FILE_NAME}` calls it {quote(name)}"
    return diagnose("run_name_mismatch", mode, message)
