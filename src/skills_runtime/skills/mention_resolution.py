r"""From what somebody wrote to the skills they mean, and a word on every mention that leads nowhere.

An exact mention that names nothing is an error, as ever. The forms that people type are taken as they are meant: a
name that is known is its skill, and one that is not becomes a notice whenever it can hardly be anything but a mention:

- `[$name](path)`: always;
- `/name` at the beginning: unless it is a directory of every system, such as `/tmp`;
- `$name`: when it has a hyphen, which no variable has, when it is one slip away from the name of a skill, or when
  several skills have that name. Any other `$word` is text.

A skill that says `user-invocable: false` is not called in these forms; the exact mention still means it.
"""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol
from urllib.parse import unquote
from weakref import WeakKeyDictionary

import msgspec

from skills_runtime.skills.catalog.entries import people_may_call
from skills_runtime.skills.library import DISCOVERED, PLUGIN_LEVEL, ambiguous, standing, unknown_name
from skills_runtime.skills.mentions import Written, is_name, is_one_slip_from, unknown, written_in
from skills_runtime.skills.problems import Problem, SkillError, failure
from skills_runtime.skills.skill import Mention, Skill
from skills_runtime.text import one_line

_PLUGIN = "plugin:"


class Listed:
    """Skills of a list, by name; what a nearer skill hides is on no list, so only plugins are farther than the rest."""

    def __init__(self, skills: tuple[Skill, ...]) -> None:
        self._skills = skills

    def list(self) -> tuple[Skill, ...]:
        """Every skill of the list."""
        return self._skills

    def problems(self) -> tuple[Problem, ...]:
        """Nothing: a list tells only of what works."""
        return ()

    def find(self, mention: Mention) -> Skill:
        """The skill of an exact mention."""
        found = [one for one in self._skills if one.name == mention.name and one.namespace == mention.namespace]
        if len(found) != 1:
            raise unknown(mention, (), ())
        return found[0]

    def find_by_name(self, name: str) -> Skill:
        """The one skill of this name; none and several are a `SkillError`."""
        namespace, _, own = name.rpartition(":")
        if namespace:
            for known in (namespace, f"{_PLUGIN}{namespace}"):
                if any(one.namespace == known for one in self._skills):
                    return self.find(Mention(known, own))
        named = [one for one in self._skills if one.name == name]
        if not named:
            raise unknown_name(name, (), ())
        meant = standing((_level(one), one) for one in named).meant
        if len(meant) > 1:
            raise SkillError(ambiguous(name, meant))
        return meant[0]


def _level(skill: Skill) -> int:
    from_plugin = skill.space_id == DISCOVERED and skill.namespace.startswith(_PLUGIN)
    return PLUGIN_LEVEL if from_plugin else 0


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
    written: Mapping[Mention, str] = {}
    """How each of the skills was mentioned first."""
    notices: tuple[Problem, ...] = ()
    """Mentions that lead nowhere, for the user; the text is as it was."""


def mentioned(text: str, library: Names) -> Mentioned:
    """The skills that free text mentions in any form; only an exact mention that names nothing raises."""
    arguments: dict[Mention, str] = {}
    skills: dict[Mention, Skill] = {}
    written: dict[Mention, str] = {}
    notices: dict[str, Problem] = {}
    for one, meant in _read(text, library):
        if isinstance(meant, SkillError):
            if one.form == "exact":
                raise meant
            notices.setdefault(one.text, _notice(one, meant))
            continue
        skills.setdefault(meant.mention, meant)
        written.setdefault(meant.mention, one.text)
        if one.arguments:
            arguments[meant.mention] = one.arguments
    return Mentioned(
        skills=tuple(skills.values()),
        arguments=arguments,
        written=written,
        notices=_bounded(list(notices.values())),
    )


def mentioned_of(text: str, skills: Sequence[Skill]) -> Mentioned:
    """The same for whoever has no library but its list: what leads nowhere is passed over."""
    found: dict[Mention, tuple[Skill, str]] = {}
    for one, meant in _read(text, Listed(tuple(skills))):
        if not isinstance(meant, SkillError):
            found.setdefault(meant.mention, (meant, one.text))
    return Mentioned(
        skills=tuple(skill for skill, _ in found.values()),
        written={mention: text for mention, (_, text) in found.items()},
    )


def _read(text: str, library: Names) -> Iterator[tuple[Written, Skill | SkillError]]:
    """Each mention with what it means, or why it means nothing."""
    if "$" not in text and not text.lstrip().startswith("/"):
        return
    known = _names(library)
    for one in written_in(text, known.unsayable):
        if _is_mention(one, known.all):
            try:
                yield one, _meant(one, library)
            except SkillError as error:
                yield one, error


class _Known(msgspec.Struct, frozen=True):
    """What skills are called somewhere, those too that are broken or share their names."""

    listed: tuple[Skill, ...]
    all: frozenset[str]
    unsayable: frozenset[str]
    """Those that no exact mention can say."""


_known: WeakKeyDictionary[Names, _Known] = WeakKeyDictionary()
"""The names of each library, with the list they are from; collecting ten thousand takes longer than all the rest."""


def _names(library: Names) -> _Known:
    listed = library.list()
    kept = _known.get(library)
    if kept is not None and kept.listed is listed:
        return kept
    broken = (problem.name for problem in library.problems() if problem.severity == "error" and problem.name)
    names = frozenset((*(skill.name for skill in listed), *broken))
    found = _Known(listed, names, frozenset(name for name in names if not is_name(name)))
    _known[library] = found
    return found


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
    skill = _linked(one, library) if one.form == "link" else library.find_by_name(one.name)
    if not people_may_call(skill):
        raise failure(
            "SKILL_NOT_FOR_PEOPLE",
            f"the skill `{skill.name}` says that people do not call it",
            hint="the model calls it when a task needs it",
            mention=one.text,
        )
    return skill


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
