"""Why a mention leads nowhere, said so that somebody can put it right.

Pure.
"""

import heapq
import string
from collections.abc import Collection, Iterable, Iterator

import msgspec

from skills_runtime.skills.problems import Problem, SkillError, failure
from skills_runtime.skills.skill import Mention, Skill

_SUGGESTIONS = 3
_COMPARED = 100
"""How many names are compared letter by letter."""
_LETTERS = string.ascii_lowercase + string.digits + "-_"
_SHORTEST = 4
"""Shorter words are all one slip from each other."""


def unknown(mention: Mention, names: Collection[Mention], problems: Iterable[Problem]) -> SkillError:
    """The error for a name in a known namespace that no usable skill has."""
    errors = [each for each in problems if each.severity == "error" and each.namespace == mention.namespace]
    broken = next((each for each in errors if each.name == mention.name), None)
    if broken is not None:
        message = f"`{mention.text}` cannot be used ({broken.locator}): {broken.message}"
        return SkillError(msgspec.structs.replace(broken, message=message))
    unseen = next((each for each in errors if each.code == "SKILL_SCAN_SOURCE_UNAVAILABLE"), None)
    why = f"; {unseen.message} ({unseen.locator})" if unseen is not None else ""
    return failure(
        "SKILL_UNKNOWN",
        f"there is no skill `{mention.text}`{why}",
        hint=nearest(mention.text, [known.text for known in sorted(names)]) or "check the name of the skill",
        mention=mention.text,
    )


def not_configured(mention: Mention, namespaces: Iterable[str]) -> SkillError:
    """The error for a namespace that no space has."""
    return failure(
        "SKILL_SPACE_NOT_CONFIGURED",
        f"`{mention.text}` names a namespace that no space has",
        hint=nearest(mention.namespace, sorted(set(namespaces))) or "add a space for it to `skills.spaces`",
        mention=mention.text,
    )


def duplicate(skills: Collection[Skill]) -> Problem:
    """The problem with skills of the same name."""
    first, *_ = skills
    places = [skill.locator for skill in skills]
    return Problem(
        code="SKILL_DUPLICATE_NAME",
        message=f"`{first.mention.text}` is the name of {len(places)} skills: {', '.join(places)}",
        hint="rename all but one of them, or put them into spaces of their own",
        namespace=first.namespace,
        name=first.name,
        details={"locators": places},
    )


def is_one_slip_from(wrong: str, known: Collection[str]) -> bool:
    """Whether one letter more, less, wrong or in the wrong place makes it a known name; ten thousand cost no more."""
    return len(wrong) >= _SHORTEST and any(one in known for one in _slips(wrong))


def _slips(word: str) -> Iterator[str]:
    for place in range(len(word) + 1):
        before, after = word[:place], word[place:]
        for letter in _LETTERS:
            yield before + letter + after
            yield before + letter + after[1:]
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]


def nearest(wrong: str, known: list[str]) -> str:
    """A question whether one of the known names was meant, or nothing where none is like it."""
    import difflib

    close = difflib.get_close_matches(wrong, _alike(wrong, known), n=_SUGGESTIONS)
    return f"did you mean {' or '.join(f'`{each}`' for each in close)}?" if close else ""


def _alike(wrong: str, known: list[str]) -> list[str]:
    """The names that share most with the wrong one; comparing letter by letter is too slow for thousands."""
    if len(known) <= _COMPARED:
        return known
    pieces = {wrong[place : place + 3] for place in range(len(wrong) - 2)}
    return heapq.nlargest(_COMPARED, known, key=lambda one: sum(piece in one for piece in pieces))
