"""Which skill a bare name means, when several have it: the nearest, and never one of two that are equally near.

Pure. Skills of a plugin are only ever called by their plugin's name as well, so nothing hides them.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from skills_runtime.skills.problems import Problem, SkillError, failure
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.unknown import nearest

DISCOVERED = "discovered"
"""The space of every skill that nobody named in the settings."""
PLUGIN_LEVEL = 1_000_000
"""The level of plugins, below everything else."""


class Standing(msgspec.Struct, frozen=True):
    """What becomes of the skills that share a name."""

    meant: Sequence[Skill]
    """The one that the name means; several are equally near, and then it means none of them."""
    hidden: Sequence[Skill] = ()
    """Those that are there but not offered."""


def standing(skills: Iterable[tuple[int, Skill]]) -> Standing:
    """What becomes of skills with one name, each with its level."""
    ranked = sorted(skills, key=lambda each: each[0])
    nearest = ranked[0][0]
    meant = [skill for level, skill in ranked if level == nearest]
    hidden = [skill for level, skill in ranked if nearest < level < PLUGIN_LEVEL]
    if nearest > 0 and len({skill.content_hash for skill in meant}) == 1 and meant[0].content_hash:
        meant, copies = meant[:1], meant[1:]
        hidden = [*(copy for copy in copies if nearest < PLUGIN_LEVEL), *hidden]
    return Standing(meant, hidden)


def reported(standings: Mapping[str, Standing]) -> Iterable[Problem]:
    """What somebody should know about shared names."""
    for name, one in sorted(standings.items()):
        if len(one.meant) > 1 and any(skill.space_id == DISCOVERED for skill in one.meant):
            yield ambiguous(name, one.meant)
        for skill in one.hidden:
            yield _shadowed(skill, one.meant)


def ambiguous(name: str, skills: Sequence[Skill]) -> Problem:
    """The problem with a name that several skills have and that are equally near."""
    mentions = list(dict.fromkeys(skill.mention.text for skill in skills))
    return Problem(
        code="SKILL_NAME_AMBIGUOUS",
        message=f"`{name}` is the name of {len(skills)} skills: {', '.join(skill.locator for skill in skills)}",
        hint=f"say which: {' or '.join(f'`{each}`' for each in mentions)}",
        severity="warning",
        name=name,
        details={"mentions": mentions, "locators": [skill.locator for skill in skills]},
    )


def unknown_name(name: str, names: Iterable[str], problems: Iterable[Problem]) -> SkillError:
    """The error for a name that no usable skill has."""
    known = list(problems)
    broken = next((each for each in known if each.severity == "error" and each.name == name), None)
    if broken is not None:
        message = f"`{name}` cannot be used ({broken.locator}): {broken.message}"
        return SkillError(msgspec.structs.replace(broken, message=message))
    untrusted = next((each for each in known if each.code == "SKILL_FOLDER_UNTRUSTED"), None)
    hint = nearest(name, sorted(names)) or (untrusted.hint if untrusted else "`skills list` shows every skill there is")
    return failure("SKILL_UNKNOWN", f"there is no skill `{name}`", hint=hint, mention=name)


def _shadowed(skill: Skill, meant: Sequence[Skill]) -> Problem:
    first = meant[0]
    same = skill.content_hash != "" and skill.content_hash == first.content_hash
    why = "is a copy of" if same else "is hidden by"
    return Problem(
        code="SKILL_SHADOWED",
        message=f"`{skill.mention.text}` {why} `{first.mention.text}` ({first.locator})",
        hint=f"`{skill.mention.text}` still calls it",
        severity="notice",
        locator=skill.locator,
        namespace=skill.namespace,
        name=skill.name,
        details={"by": first.mention.text, "by_locator": first.locator},
    )
