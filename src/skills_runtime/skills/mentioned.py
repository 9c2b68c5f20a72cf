r"""From what somebody wrote to the skills they mean, and a word on every mention that leads nowhere.

An exact mention that names nothing is an error, as ever. The forms that people type are taken as they are meant: a
name that is known is its skill, and one that is not becomes a notice whenever it can hardly be anything but a mention:

- `[$name](path)`: always;
- `/name` at the beginning: unless it is a directory of every system, such as `/tmp`;
- `$name`: when it has a hyphen, which no variable has, when it is one slip away from the name of a skill, or when
  several skills have that name. Any other `$word` is text.
"""

import posixpath
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import unquote
from weakref import WeakKeyDictionary

import msgspec

from skills_runtime.skills.mention_forms import Written, written_in
from skills_runtime.skills.neutral import one_line
from skills_runtime.skills.problems import Problem, SkillError, failure
from skills_runtime.skills.skill import Mention, Skill
from skills_runtime.skills.unknown import is_one_slip_from

MAX_NOTICES = 20

_DIRECTORIES = frozenset(
    {"bin", "boot", "dev", "etc", "home", "lib", "lib64", "media", "mnt", "opt", "private", "proc", "root", "run"}
    | {"sbin", "srv", "sys", "tmp", "usr", "var", "volumes"}
)
_SHOWN_CHARS = 120


class Names(Protocol):
    """Where names of skills are looked up."""

    def list(self) -> tuple[Skill, ...]:
        """Every skill that can be mentioned."""
        ...

    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with skills that cannot be mentioned."""
        ...

    def find(self, mention: Mention) -> Skill:
        """The skill of an exact mention."""
        ...

    def find_by_name(self, name: str) -> Skill:
        """The one skill of this name; none and several are a `SkillError`."""
        ...


class Mentioned(msgspec.Struct, frozen=True, kw_only=True):
    """What a text asks for."""

    skills: tuple[Skill, ...] = ()
    """Each once, in the order of their first mention."""
    arguments: Mapping[Mention, str] = {}
    """What somebody wrote behind a `/name`, for the skill of that name."""
    notices: tuple[Problem, ...] = ()
    """Mentions that lead nowhere, for the user; the text is as it was."""


def mentioned(text: str, library: Names) -> Mentioned:
    """The skills that free text mentions in any form; only an exact mention that names nothing raises."""
    written = written_in(text)
    known = _names(library) if any(one.form in ("dollar", "slash") for one in written) else frozenset[str]()
    skills: dict[Mention, Skill] = {}
    arguments: dict[Mention, str] = {}
    notices: dict[str, Problem] = {}
    for one in written:
        if one.text in notices or not _is_mention(one, known):
            continue
        try:
            skill = _meant(one, library)
        except SkillError as error:
            if one.form == "exact":
                raise
            notices[one.text] = _notice(one, error)
            continue
        skills.setdefault(skill.mention, skill)
        if one.arguments:
            arguments[skill.mention] = one.arguments
    return Mentioned(skills=tuple(skills.values()), arguments=arguments, notices=_bounded(list(notices.values())))


_known: WeakKeyDictionary[Names, tuple[tuple[Skill, ...], frozenset[str]]] = WeakKeyDictionary()
"""The names of each library, with the list they are from; collecting ten thousand takes longer than all the rest."""


def _names(library: Names) -> frozenset[str]:
    """What skills are called here, those too that are broken or share their names."""
    listed = library.list()
    kept = _known.get(library)
    if kept is not None and kept[0] is listed:
        return kept[1]
    broken = (problem.name for problem in library.problems() if problem.severity == "error")
    names = frozenset((*(skill.name for skill in listed), *broken))
    _known[library] = (listed, names)
    return names


def _is_mention(one: Written, known: frozenset[str]) -> bool:
    """Whether somebody meant a skill; asked before a skill is looked for, since most words with a `$` are none."""
    if one.form == "slash":
        return one.name not in _DIRECTORIES or one.name in known
    if one.form != "dollar":
        return True
    name = one.name.rpartition(":")[2]
    return name in known or (one.name[0].isalpha() and "-" in one.name) or is_one_slip_from(name, known)


def _meant(one: Written, library: Names) -> Skill:
    if one.form == "exact":
        return library.find(Mention(one.namespace, one.name))
    return _linked(one, library) if one.form == "link" else library.find_by_name(one.name)


def _linked(one: Written, library: Names) -> Skill:
    """The skill that a link names and leads to; the path decides between skills of one name."""
    name = one.name.rpartition(":")[2]
    named = [skill for skill in library.list() if skill.name == name]
    if not named:
        return library.find_by_name(one.name)
    place = _place(one.path)
    there = [skill for skill in named if one.path == skill.locator or _is_at(skill, place)]
    if len(there) == 1:
        return there[0]
    places = ", ".join(f"`{skill.locator}`" for skill in named[:3])
    raise failure("SKILL_UNKNOWN", f"there is no skill `{name}` at {one.path!a}", hint=f"it is at {places}")


def _place(path: str) -> str:
    plain = posixpath.normpath(unquote(path).removeprefix("file://").removeprefix("skill://"))
    while plain.startswith("../"):
        plain = plain[3:]
    return plain


def _is_at(skill: Skill, place: str) -> bool:
    own = [skill.locator] if skill.path is None else [str(skill.path), str(skill.path.parent)]
    return any(one == place or (not place.startswith("/") and one.endswith(f"/{place}")) for one in own)


def _notice(one: Written, error: SkillError) -> Problem:
    shown = one_line(one.text)[:_SHOWN_CHARS]
    text = f"`{shown}` was left as it is: {error.message}"
    hint = error.hint if one.form != "dollar" else f"{error.hint}; write `\\{shown}` where no skill is meant"
    return msgspec.structs.replace(error.problem, message=text, hint=hint.removeprefix("; "), severity="notice")


def _bounded(notices: list[Problem]) -> tuple[Problem, ...]:
    if len(notices) <= MAX_NOTICES:
        return tuple(notices)
    more = Problem(
        code="SKILL_UNKNOWN",
        message=f"{len(notices) - MAX_NOTICES} more mentions name no skill",
        hint="put what is code between backticks",
        severity="notice",
    )
    return (*notices[:MAX_NOTICES], more)
