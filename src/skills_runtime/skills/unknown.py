"""Why a mention leads nowhere, said so that somebody can put it right.

Pure.
"""

from collections.abc import Collection, Iterable

import msgspec

from skills_runtime.skills.problems import Problem, SkillError, failure
from skills_runtime.skills.skill import Mention, Skill

_SUGGESTIONS = 3


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
        hint=_nearest(mention.text, [known.text for known in sorted(names)]) or "check the name of the skill",
        mention=mention.text,
    )


def not_configured(mention: Mention, namespaces: Iterable[str]) -> SkillError:
    """The error for a namespace that no space has."""
    return failure(
        "SKILL_SPACE_NOT_CONFIGURED",
        f"`{mention.text}` names a namespace that no space has",
        hint=_nearest(mention.namespace, sorted(set(namespaces))) or "add a space for it to `skills.spaces`",
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


def _nearest(wrong: str, known: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(wrong, known, n=_SUGGESTIONS)
    return f"did you mean {' or '.join(f'`{each}`' for each in close)}?" if close else ""
