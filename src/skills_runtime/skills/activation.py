"""What a skill brings into a conversation: its text with the arguments it was called with, its names, and its files.

Reads only below the directory of a skill and through no link.
"""

import errno
import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from skills_runtime.skills.library import Library
from skills_runtime.skills.problems import SkillError, failure
from skills_runtime.skills.skill import Skill, model_may_call
from skills_runtime.storage import error_reason, open_directory, read_below, relative_parts, walk

MAX_CHARS = 10_000
"""The longest arguments that a skill is called with by a tool."""

_PLACEHOLDER = re.compile(
    r"\$(?:ARGUMENTS\[(?P<place>\d{1,2})\]|(?P<all>ARGUMENTS)\b|(?P<number>[1-9])(?!\d)|(?P<name>[a-z][a-z0-9_-]*))"
)


def filled(body: str, arguments: str, names: Sequence[str] = ()) -> str:
    """The text of a skill with its arguments in place.

    `$ARGUMENTS` is all of them, `$1` to `$9` are their words, and a name that the front matter lists under `arguments`
    is the word in that place. A number with no word for it, such as a price, stays. Values are put in once, so one that
    looks like a placeholder stays what it is. A text that asks for nothing gets what was written at its end.
    """
    words = _words(arguments)
    known = dict(zip(names, words, strict=False))
    asked = False

    def value(found: re.Match[str]) -> str:
        nonlocal asked
        if found["name"] is not None:
            if found["name"] not in names:
                return found[0]
            asked = True
            return known.get(found["name"], "")
        asked = asked or not found["number"] or int(found["number"]) <= len(words)
        if found["all"]:
            return arguments
        place = int(found["number"]) - 1 if found["number"] else int(found["place"])
        return words[place] if place < len(words) else found[0] if found["number"] else ""

    text = _PLACEHOLDER.sub(value, body) if "$" in body else body
    return text if asked or not arguments else f"{text.rstrip()}\n\nArguments: {arguments}\n"


def argument_names(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The names that a skill gives to its arguments, in their order."""
    value = metadata.get("arguments")
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    if not isinstance(value, list):
        return ()
    return tuple(name for one in cast("list[Any]", value) if (name := _name_in(one)))


def _name_in(one: Any) -> str:
    if isinstance(one, Mapping):
        one = cast("Mapping[str, Any]", one).get("name")
    return one if isinstance(one, str) else ""


def _words(arguments: str) -> list[str]:
    """The words as a shell would split them; an open quote is an ordinary character."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


MAX_SHOWN = 20
MAX_SEEN = 2000
_OF_THE_SKILL = frozenset({"SKILL.md", "skill.md", "skill.yaml", "skill.yml"})


class Listing(msgspec.Struct, frozen=True):
    """Some files of a skill, and how many there are besides."""

    names: tuple[str, ...] = ()
    more: int = 0


def files_of(skill: Skill) -> Listing:
    """What lies in the directory of a skill besides its own text; what cannot be looked at is left out."""
    if skill.directory is None:
        return Listing()
    try:
        with open_directory(skill.directory) as top:
            found = sorted(_below(top))
    except OSError:
        return Listing()
    return Listing(tuple(found[:MAX_SHOWN]), max(0, len(found) - MAX_SHOWN))


def _below(top: int) -> Iterator[str]:
    seen = 0
    # A directory that is closed hides only what is in it.
    for entry in walk(top, enter=lambda one: not one.name.startswith("."), on_error=lambda _, __: None):
        if entry.is_link or entry.name.startswith("."):
            continue
        seen += 1
        if seen > MAX_SEEN:
            return
        if not entry.is_directory and entry.path not in _OF_THE_SKILL:
            yield entry.path


def identity_of(skill: Skill, body: str) -> str:
    """The digest of what a skill says: its name, its description and its text."""
    return hashlib.sha256(f"{skill.mention.text}\n{skill.description}\n{body}".encode(errors="replace")).hexdigest()


MAX_LISTED = 200
"""More names than this are not listed in the tool; they are checked when it is called."""


class Named(msgspec.Struct, frozen=True):
    """The skills a model may activate, by what it calls them."""

    skills: Mapping[str, Skill] = {}

    @property
    def listed(self) -> list[str]:
        """The names to offer, if they are few enough."""
        return sorted(self.skills) if len(self.skills) <= MAX_LISTED else []

    def find(self, name: str) -> Skill | None:
        """The skill that is called this, by its name or its mention."""
        found = self.skills.get(name)
        return found or next((one for one in self.skills.values() if one.mention.text == name), None)


class NamesNow:
    """The names of a library as it is now; they are collected anew only when its list is another one."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._listed = library.list()
        self._named = named_skills(self._listed)

    def __call__(self) -> Named:
        """The skills a model may activate by now."""
        listed = self._library.list()
        if listed is not self._listed:
            self._listed, self._named = listed, named_skills(listed)
        return self._named


def named_skills(skills: Iterable[Skill]) -> Named:
    """Those of the skills that a model may call by itself."""
    offered = [skill for skill in skills if model_may_call(skill)]
    count = Counter(skill.name for skill in offered)
    return Named({skill.name if count[skill.name] == 1 else skill.mention.text: skill for skill in offered})


__all__ = ["Named", "files_of", "filled", "identity_of", "named_skills"]


REFERENCES = "references"
ASSETS = "assets"
SECRETS = ".env"
"""How files begin whose values no model is shown."""


def read_skill_file(skill: Skill, path: str, *, limit: int, folders: Collection[str] = ()) -> bytes:
    """Read at most `limit` bytes of a file of a skill; where `folders` are named, only from one below them."""
    directory = skill.directory
    if directory is None:
        raise failure(
            "SKILL_REF_SOURCE_UNSUPPORTED",
            f"`{skill.mention.text}` is not a directory, so it has no files to read",
            hint="only skills from files have them",
        )
    if path.startswith("/") or ".." in path.split("/"):
        raise _failure("SKILL_REF_PATH_ESCAPE", skill, path, "leads out of the skill")
    parts = relative_parts(path.removeprefix("./"))
    if parts is None or (folders and (len(parts) == 1 or parts[0] not in folders)):
        below = " or ".join(f"`{name}/`" for name in folders) or "its directory"
        raise _failure("SKILL_REF_PATH_INVALID", skill, path, f"is not a file below {below}")
    if any(part.startswith(SECRETS) for part in parts):
        raise _failure("SKILL_REF_PATH_ESCAPE", skill, path, "holds values that are not shown")
    try:
        with open_directory(directory) as top:
            return read_below(top, parts, limit=limit)
    except OSError as error:
        raise _unread(skill, path, error) from error


def _unread(skill: Skill, path: str, error: OSError) -> SkillError:
    if error.errno == errno.ELOOP:
        return _failure("SKILL_REF_PATH_ESCAPE", skill, path, "is a link, or there is one on the way to it")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return _failure("SKILL_REF_NOT_FOUND", skill, path, "does not exist")
    return _failure("SKILL_REF_PATH_INVALID", skill, path, f"cannot be read: {error_reason(error)}")


def _failure(code: str, skill: Skill, path: str, why: str) -> SkillError:
    return failure(
        code,
        f"{path[:200]!a} of `{skill.mention.text}` {why}",
        hint=f"write the path from the skill's own directory, such as `{REFERENCES}/guide.md`",
        mention=skill.mention.text,
    )
