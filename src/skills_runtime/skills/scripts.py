"""The scripts of a skill: which file it begins with, which packages a script says it needs, and which Pythons fit.

Reads files; runs nothing and installs nothing.
"""

import re
import stat
import tomllib
from pathlib import Path
from typing import Any, cast

import msgspec

from skills_runtime.skills.problems import failure
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.standard.skill_yaml import ENTRIES
from skills_runtime.storage import error_reason, mode_below, open_directory, read_below

MAX_BYTES = 1 << 20
MAX_DEPENDENCIES = 200

_OPENING = re.compile(r"# /// ([a-zA-Z0-9-]+)")
_CLOSING = "# ///"
_PACKAGE = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_EXTRAS = rf"(?:\[\s*{_PACKAGE}(?:\s*,\s*{_PACKAGE})*\s*\])?"
_CLAUSE = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+"
_CLAUSES = rf"(?:\(\s*{_CLAUSE}(?:\s*,\s*{_CLAUSE})*\s*\)|{_CLAUSE}(?:\s*,\s*{_CLAUSE})*)?"
_MARKER = r"(?:;[A-Za-z0-9 ._()<>=!~'\"-]+)?"
_DEPENDENCY = re.compile(rf"{_PACKAGE}\s*{_EXTRAS}\s*{_CLAUSES}\s*{_MARKER}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:T[0-9:.]+(?:Z|[+-]\d{2}:\d{2})?)?")


class NotUsable(ValueError):
    """The block cannot be followed; the text says why, as the end of a sentence."""


class InlineMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """What a script needs."""

    requires_python: str = ""
    dependencies: tuple[str, ...] = ()
    exclude_newer: str = ""
    """Packages published later do not count."""


def inline_metadata(data: bytes) -> InlineMetadata | None:
    """What the script's block says, or nothing where it has none; raises `NotUsable`."""
    if b"# /// script" not in data[:MAX_BYTES]:
        return None
    try:
        text = data[:MAX_BYTES].decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotUsable("it is not UTF-8 text") from None
    blocks = _blocks(text.splitlines())
    if not blocks:
        return None
    if len(blocks) > 1:
        raise NotUsable("it has more than one block `# /// script`")
    try:
        return _metadata(tomllib.loads(blocks[0]))
    except tomllib.TOMLDecodeError as error:
        raise NotUsable(f"its block `# /// script` is not TOML: {error}") from None


def _blocks(lines: list[str]) -> list[str]:
    """The content of every block of the type `script`; one that is never closed is no block."""
    found: list[str] = []
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
        if closings:  # the last one closes: between two blocks there is a line that is no comment
            if opening[1] == "script":
                found.append("\n".join(line[2:] for line in lines[number : closings[-1]]))
            number = closings[-1] + 1
    return found


def _metadata(fields: dict[str, Any]) -> InlineMetadata:
    requires = fields.get("requires-python", "")
    if not isinstance(requires, str) or "\n" in requires:
        raise NotUsable("its `requires-python` is not a text")
    return InlineMetadata(
        requires_python=requires.strip(),
        dependencies=_dependencies(fields.get("dependencies", [])),
        exclude_newer=_exclude_newer(fields.get("tool")),
    )


def _dependencies(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or len(cast("list[Any]", value)) > MAX_DEPENDENCIES:
        raise NotUsable(f"its `dependencies` are not a list of {MAX_DEPENDENCIES} texts at most")
    wanted: list[str] = []
    for one in cast("list[Any]", value):
        if not isinstance(one, str) or not _DEPENDENCY.fullmatch(one.strip()):
            raise NotUsable(f"the dependency {str(one)[:80]!a} is not a package with versions")
        wanted.append(one.strip())
    return tuple(wanted)


def _exclude_newer(tool: Any) -> str:
    uv = cast("dict[str, Any]", tool).get("uv") if isinstance(tool, dict) else None
    moment = cast("dict[str, Any]", uv).get("exclude-newer", "") if isinstance(uv, dict) else ""
    text = moment if isinstance(moment, str) else str(getattr(moment, "isoformat", lambda: "?")())
    if text and not _MOMENT.fullmatch(text):
        raise NotUsable("its `exclude-newer` is not a date")
    return text


PROGRAMS = {".py": "python3", ".js": "node", ".ts": "tsx", ".sh": "bash"}
"""What runs each kind of file."""


class Entry(msgspec.Struct, frozen=True):
    """The file a skill begins with, and the program that runs it."""

    file: str
    program: str


def entry_of(skill: Skill) -> Entry:
    """The first of the files that its kind of program may begin with."""
    directory, run = skill.directory, skill.run
    assert directory is not None, "a skill with a `skill.yaml` is a directory"
    assert run is not None, "only a skill with a `skill.yaml` runs by itself"
    why = "there is none"
    for name in ENTRIES[run.runtime]:
        try:
            with open_directory(directory) as top:
                mode = mode_below(top, (name,))
        except FileNotFoundError:
            continue
        except OSError as error:
            why = error_reason(error)
            continue
        if stat.S_ISREG(mode):
            return Entry(name, PROGRAMS[Path(name).suffix])
        why = "it is not a file"
    names = " or ".join(f"`{name}`" for name in ENTRIES[run.runtime])
    raise failure(
        "SKILL_ACTION_ARGV_PATH_INVALID",
        f"`{skill.mention.text}` has no {names} to begin with: {why}",
        hint=f"a skill of the type `{run.runtime}` begins with {names}",
        mention=skill.mention.text,
    )


def script_in(skill: Skill, path: Path) -> bytes:
    """The beginning of one of the skill's own files, as much as matters; nothing where it cannot be read."""
    directory = skill.directory
    if directory is None or not path.is_relative_to(directory):
        return b""
    try:
        with open_directory(directory) as top:
            return read_below(top, path.relative_to(directory).parts, limit=MAX_BYTES)
    except OSError:
        return b""


_VERSION_CLAUSE = re.compile(r"(~=|===|==|!=|<=|>=|<|>)\s*(\d+(?:\.\d+)*)(\.\*)?")

Version = tuple[int, ...]


def allows(requires: str, version: Version) -> bool | None:
    """Whether the version fits every clause; nothing where a clause cannot be understood."""
    answers = [_fits(clause.strip(), version) for clause in requires.split(",") if clause.strip()]
    return None if None in answers else all(answers)


def _fits(clause: str, version: Version) -> bool | None:
    match = _VERSION_CLAUSE.fullmatch(clause)
    if match is None:
        return None
    operator, wanted, series = match[1], tuple(int(part) for part in match[2].split(".")), match[3] is not None
    if operator in ("==", "===", "!="):
        same = version[: len(wanted)] == wanted if series else _padded(version, wanted) == _padded(wanted, version)
        return same is (operator != "!=")
    if series:
        return None
    ours, theirs = _padded(version, wanted), _padded(wanted, version)
    if operator == "~=":
        return len(wanted) > 1 and ours >= theirs and version[: len(wanted) - 1] == wanted[:-1]
    return {"<=": ours <= theirs, ">=": ours >= theirs, "<": ours < theirs, ">": ours > theirs}[operator]


def _padded(version: Version, other: Version) -> Version:
    return version + (0,) * (len(other) - len(version))
