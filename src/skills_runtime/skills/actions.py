"""What a skill can run: its actions and their commands, its entry point, and the inline metadata of its scripts.

Reads files; runs and installs nothing. Every file is checked when it is used and must belong to the skill. An approval
covers the digest of the whole directory.
"""

import errno
import hashlib
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from skills_runtime.skills.problems import SkillError, failure
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.standard.skill_yaml import ENTRIES, is_variable
from skills_runtime.storage import error_reason, open_directory, read_below, relative_parts, stat_mode_below, walk

PROGRAMS = {".py": "python3", ".js": "node", ".ts": "tsx", ".sh": "bash"}
"""The program that runs each kind of file."""


class EntryPoint(msgspec.Struct, frozen=True):
    """The file a skill starts with, and the program that runs it."""

    file: str
    program: str


def find_entry_point(skill: Skill) -> EntryPoint:
    """Return the first existing entry file of the skill's runtime."""
    directory, run = skill.directory, skill.run
    assert directory is not None, "a skill with a `skill.yaml` is a directory"
    assert run is not None, "only a skill with a `skill.yaml` runs by itself"
    reason = "it does not exist"
    for name in ENTRIES[run.runtime]:
        try:
            with open_directory(directory) as top:
                mode = stat_mode_below(top, (name,))
        except FileNotFoundError:
            continue
        except OSError as error:
            reason = error_reason(error)
            continue
        if stat.S_ISREG(mode):
            return EntryPoint(name, PROGRAMS[Path(name).suffix])
        reason = "it is not a file"
    names = " or ".join(f"`{name}`" for name in ENTRIES[run.runtime])
    raise failure(
        "SKILL_ACTION_ARGV_PATH_INVALID",
        f"`{skill.mention.text}` has no entry file {names}: {reason}",
        hint=f"a skill of the type `{run.runtime}` starts with {names}",
        mention=skill.mention.text,
    )


def check_program(skill: Skill, *, enabled: bool) -> None:
    """Raise if a skill that a task names has a program that a run cannot execute."""
    if skill.run is None:
        return
    if not enabled:
        raise failure(
            "SKILL_ACTIONS_DISABLED",
            f"`{skill.mention.text}` has a program, and programs of skills are turned off",
            hint="set `skills.actions.enabled: true`, such as with `--set skills.actions.enabled=true`",
            mention=skill.mention.text,
        )
    find_entry_point(skill)


ACTIONS = "actions"
"""The front matter field that defines actions, and the directory of their files."""
RUN_ACTION = "run"
"""The action that a `skill.yaml` defines."""
RESERVED_PREFIX = "SKILLS_RUNTIME_SDK_"
"""Prefix of variables that only the runtime sets."""
MAX_TIMEOUT_MS = 24 * 60 * 60 * 1000
MAX_ARGUMENTS = 1000

_FIELDS = frozenset({"kind", "argv", "timeout_ms", "env"})
_NULL_VALUES = ("", "~", "null", "Null", "NULL", None)
"""The ways YAML writes null."""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One command of a skill, as its front matter defines it."""

    id: str
    argv: tuple[str, ...]
    timeout_ms: int | None = None
    env: Mapping[str, str] = {}
    entry: EntryPoint | None = None
    """The entry point if the action runs the skill itself, with JSON as input and output."""


def find_action(skill: Skill, action_id: str) -> Action:
    """Return the action with this id."""
    definitions = _action_definitions(skill)
    if action_id == RUN_ACTION and skill.run is not None:
        if RUN_ACTION in definitions:
            raise _definition_error(skill, RUN_ACTION, "its `skill.yaml` and its front matter both define it")
        entry = find_entry_point(skill)
        return Action(id=RUN_ACTION, argv=(entry.program, entry.file), timeout_ms=skill.run.timeout_ms, entry=entry)
    if action_id not in definitions:
        names = ", ".join(f"`{name}`" for name in list_action_names(skill))
        raise failure(
            "SKILL_ACTION_NOT_FOUND",
            f"`{skill.mention.text}` has no action {action_id[:80]!a}",
            hint=f"it has: {names}" if names else "it has no actions at all",
            mention=skill.mention.text,
        )
    definition = definitions[action_id]
    if not isinstance(definition, dict):
        raise _definition_error(skill, action_id, "it must be a mapping")
    return _parse_action(skill, action_id, cast("dict[str, Any]", definition))


def list_action_names(skill: Skill) -> tuple[str, ...]:
    """Return the ids of all actions of a skill."""
    return tuple(sorted({*_action_definitions(skill), *((RUN_ACTION,) if skill.run is not None else ())}))


def resolve_command(skill: Skill, action: Action) -> tuple[str, ...]:
    """Return the command with the skill's relative paths made absolute; each file is checked now.

    An argument with a slash is a path; it must be below `actions/` and contain no link.
    """
    directory = skill.directory
    if directory is None:
        raise failure(
            "SKILL_ACTION_SOURCE_UNSUPPORTED",
            f"`{skill.mention.text}` is not a directory, so it has no actions to run",
            hint="only skills from files have actions",
        )
    if action.entry is not None:
        return (action.entry.program, str(directory / action.entry.file))
    return tuple(
        str(_resolve_own_file(skill, directory, arg, program=number == 0)) if "/" in arg else arg
        for number, arg in enumerate(action.argv)
    )


def _action_definitions(skill: Skill) -> dict[str, Any]:
    inner = skill.metadata.get("metadata")
    nested = cast("dict[str, Any]", inner).get(ACTIONS) if isinstance(inner, dict) else None
    definitions = skill.metadata.get(ACTIONS, nested)
    return cast("dict[str, Any]", definitions) if isinstance(definitions, dict) else {}


def _parse_action(skill: Skill, action_id: str, definition: Mapping[str, Any]) -> Action:
    unknown = sorted(definition.keys() - _FIELDS)
    if unknown:
        raise _definition_error(skill, action_id, f"it has no field {unknown[0][:80]!a}")
    if definition.get("kind") != "shell":
        raise _definition_error(skill, action_id, "its `kind` must be `shell`")
    value: Any = definition.get("argv")
    argv: tuple[Any, ...] = tuple(cast("list[Any]", value)) if isinstance(value, list) else ()
    texts = all(isinstance(arg, str) and "\0" not in arg for arg in argv)
    if not texts or not argv or not argv[0] or len(argv) > MAX_ARGUMENTS:
        raise _definition_error(skill, action_id, "its `argv` must be a list of texts, a program first")
    return Action(
        id=action_id,
        argv=argv,
        timeout_ms=_parse_timeout(skill, action_id, definition.get("timeout_ms", "")),
        env=_parse_environment(skill, action_id, definition.get("env", "")),
    )


def _parse_timeout(skill: Skill, action_id: str, value: Any) -> int | None:
    if value in _NULL_VALUES:
        return None
    text = str(value)
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MAX_TIMEOUT_MS)) else 0
    if not 1 <= number <= MAX_TIMEOUT_MS:
        raise _definition_error(skill, action_id, f"its `timeout_ms` must be a number from 1 to {MAX_TIMEOUT_MS}")
    return number


def _parse_environment(skill: Skill, action_id: str, value: Any) -> dict[str, str]:
    if value in _NULL_VALUES:
        return {}
    pairs = cast("dict[Any, Any]", value) if isinstance(value, dict) else {"": ""}
    for name, text in pairs.items():
        if not isinstance(name, str) or not isinstance(text, str) or not is_variable(name) or "\0" in text:
            raise _definition_error(skill, action_id, "its `env` must map names of variables to texts")
        if name.startswith(RESERVED_PREFIX):
            raise _definition_error(
                skill, action_id, f"only the runtime sets variables that begin with `{RESERVED_PREFIX}`"
            )
    return dict(pairs)


def _definition_error(skill: Skill, action_id: str, reason: str) -> SkillError:
    return failure(
        "SKILL_ACTION_DEFINITION_INVALID",
        f"the action `{action_id}` of `{skill.mention.text}` is not defined correctly:  {reason}",
        hint="write it as {kind: shell, argv: [...], timeout_ms?, env?}",
        mention=skill.mention.text,
    )


def _resolve_own_file(skill: Skill, directory: Path, arg: str, *, program: bool) -> Path:
    parts = relative_parts(arg.removeprefix("./"))
    if parts is None or parts[0] != ACTIONS or len(parts) == 1:
        raise _path_escape_error(skill, arg, f"leads out of `{ACTIONS}/`")
    try:
        with open_directory(directory) as top:
            mode = stat_mode_below(top, parts)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _path_escape_error(skill, arg, "is a link, or there is one on the way to it") from error
        raise _path_error(skill, arg, error_reason(error)) from error
    if not stat.S_ISREG(mode) and (program or not stat.S_ISDIR(mode)):
        raise _path_error(skill, arg, "it is not a file")
    return Path(os.path.join(directory, *parts))


def _path_escape_error(skill: Skill, arg: str, reason: str) -> SkillError:
    return failure(
        "SKILL_ACTION_ARGV_PATH_ESCAPE",
        f"{arg[:200]!a} of `{skill.mention.text}` {reason}",
        hint=f"paths in `argv` must be files below the skill's own `{ACTIONS}/`; give programs by name",
        mention=skill.mention.text,
    )


def _path_error(skill: Skill, arg: str, reason: str) -> SkillError:
    return failure(
        "SKILL_ACTION_ARGV_PATH_INVALID",
        f"{arg[:200]!a} of `{skill.mention.text}` cannot be used: {reason}",
        hint=f"check the files below `{ACTIONS}/`",
        mention=skill.mention.text,
    )


MAX_SKILL_FILES = 10_000
MAX_SKILL_BYTES = 256 << 20


def directory_digest(directory: Path) -> str:
    """Return a digest of every name, type, mode and content below a directory; links are not followed."""
    digest, size = hashlib.sha256(), 0
    with open_directory(directory) as top:
        for number, entry in enumerate(walk(top, limit=MAX_SKILL_FILES + 1), start=1):
            content = b""
            if entry.is_link:
                content = os.fsencode(entry.target())
            elif entry.is_file:
                content = entry.read(MAX_SKILL_BYTES + 1)
            size += len(content)
            if number > MAX_SKILL_FILES or size > MAX_SKILL_BYTES:
                raise failure(
                    "SKILL_ACTION_SOURCE_UNSUPPORTED",
                    f"the skill directory `{directory}` is too large to be approved",
                    hint="keep what a skill runs small, and its data elsewhere",
                )
            line = f"{entry.status.st_mode:o} {hashlib.sha256(content).hexdigest()} {entry.path}\n"
            digest.update(line.encode(errors="surrogateescape"))
    return digest.hexdigest()


MAX_SCRIPT_BYTES = 1 << 20
MAX_DEPENDENCIES = 200

_OPENING = re.compile(r"# /// ([a-zA-Z0-9-]+)")
_CLOSING = "# ///"
_PACKAGE = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_EXTRAS = rf"(?:\[\s*{_PACKAGE}(?:\s*,\s*{_PACKAGE})*\s*\])?"
_CLAUSE = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+"
_CLAUSES = rf"(?:\(\s*{_CLAUSE}(?:\s*,\s*{_CLAUSE})*\s*\)|{_CLAUSE}(?:\s*,\s*{_CLAUSE})*)?"
_MARKER = r"(?:;[A-Za-z0-9 ._()<>=!~'\"-]+)?"
_DEPENDENCY = re.compile(rf"{_PACKAGE}\s*{_EXTRAS}\s*{_CLAUSES}\s*{_MARKER}")
_DATE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(?:T[0-9:.]+(?:Z|[+-]\d{2}:\d{2})?)?")


class UnusableMetadata(ValueError):
    """The metadata block cannot be used; the message is the end of a sentence."""


class InlineMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """The requirements of a script."""

    requires_python: str = ""
    dependencies: tuple[str, ...] = ()
    exclude_newer: str = ""
    """Packages published after this date are ignored."""


def parse_inline_metadata(data: bytes) -> InlineMetadata | None:
    """Parse the script's metadata block, or return nothing if there is none; raises `UnusableMetadata`."""
    if b"# /// script" not in data[:MAX_SCRIPT_BYTES]:
        return None
    try:
        text = data[:MAX_SCRIPT_BYTES].decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnusableMetadata("it is not UTF-8 text") from None
    blocks = _find_script_blocks(text.splitlines())
    if not blocks:
        return None
    if len(blocks) > 1:
        raise UnusableMetadata("it has more than one block `# /// script`")
    try:
        fields = tomllib.loads(blocks[0])
    except tomllib.TOMLDecodeError as error:
        raise UnusableMetadata(f"its block `# /// script` is not TOML: {error}") from None
    requires = fields.get("requires-python", "")
    if not isinstance(requires, str) or "\n" in requires:
        raise UnusableMetadata("its `requires-python` is not a text")
    return InlineMetadata(
        requires_python=requires.strip(),
        dependencies=_parse_dependencies(fields.get("dependencies", [])),
        exclude_newer=_parse_exclude_newer(fields.get("tool")),
    )


def _find_script_blocks(lines: list[str]) -> list[str]:
    """Return the content of every closed block of type `script`."""
    blocks: list[str] = []
    number = 0
    while number < len(lines):
        opening = _OPENING.fullmatch(lines[number])
        number += 1
        if opening is None:
            continue
        end = number
        while end < len(lines) and (lines[end] == "#" or lines[end].startswith("# ")):
            end += 1
        closings = [at for at in range(number, end) if lines[at] == _CLOSING]
        # The last marker closes: two blocks are separated by a line that is not a comment.
        if closings:
            if opening[1] == "script":
                blocks.append("\n".join(line[2:] for line in lines[number : closings[-1]]))
            number = closings[-1] + 1
    return blocks


def _parse_dependencies(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or len(cast("list[Any]", value)) > MAX_DEPENDENCIES:
        raise UnusableMetadata(f"its `dependencies` are not a list of {MAX_DEPENDENCIES} texts at most")
    dependencies: list[str] = []
    for item in cast("list[Any]", value):
        if not isinstance(item, str) or not _DEPENDENCY.fullmatch(item.strip()):
            raise UnusableMetadata(f"the dependency {str(item)[:80]!a} is not a package with versions")
        dependencies.append(item.strip())
    return tuple(dependencies)


def _parse_exclude_newer(tool: Any) -> str:
    uv = cast("dict[str, Any]", tool).get("uv") if isinstance(tool, dict) else None
    value = cast("dict[str, Any]", uv).get("exclude-newer", "") if isinstance(uv, dict) else ""
    text = value if isinstance(value, str) else str(getattr(value, "isoformat", lambda: "?")())
    if text and not _DATE_TIME.fullmatch(text):
        raise UnusableMetadata("its `exclude-newer` is not a date")
    return text


def read_script(skill: Skill, path: Path) -> bytes:
    """Read the beginning of one of the skill's own files; return nothing if it cannot be read."""
    directory = skill.directory
    if directory is None or not path.is_relative_to(directory):
        return b""
    try:
        with open_directory(directory) as top:
            return read_below(top, path.relative_to(directory).parts, limit=MAX_SCRIPT_BYTES)
    except OSError:
        return b""


_VERSION_CLAUSE = re.compile(r"(~=|===|==|!=|<=|>=|<|>)\s*(\d+(?:\.\d+)*)(\.\*)?")

Version = tuple[int, ...]


def is_python_allowed(requires: str, version: Version) -> bool | None:
    """Return whether the version satisfies every clause, or `None` if a clause cannot be parsed."""
    answers = [_fits(clause.strip(), version) for clause in requires.split(",") if clause.strip()]
    return None if None in answers else all(answers)


def _fits(clause: str, version: Version) -> bool | None:
    match = _VERSION_CLAUSE.fullmatch(clause)
    if match is None:
        return None
    operator, required, series = match[1], tuple(int(part) for part in match[2].split(".")), match[3] is not None
    if operator in ("==", "===", "!="):
        same = version[: len(required)] == required if series else _pad(version, required) == _pad(required, version)
        return same is (operator != "!=")
    if series:
        return None
    ours, theirs = _pad(version, required), _pad(required, version)
    if operator == "~=":
        return len(required) > 1 and ours >= theirs and version[: len(required) - 1] == required[:-1]
    return {"<=": ours <= theirs, ">=": ours >= theirs, "<": ours < theirs, ">": ours > theirs}[operator]


def _pad(version: Version, other: Version) -> Version:
    return version + (0,) * (len(other) - len(version))
