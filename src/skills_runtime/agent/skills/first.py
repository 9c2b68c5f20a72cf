"""The skills as they were when a run began: only those have calls pass unasked.

One that came or changed since may have been written by the run itself, which must not give itself permissions; nor
must a run that it begins, for which the skills count as they were when the first of them began.
"""

from collections.abc import Mapping

import msgspec

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.events.payloads import SkillInjected
from skills_runtime.runs import Run
from skills_runtime.skills.catalog.marks import CHARS, is_the_same, unpacked
from skills_runtime.skills.neutral import inert
from skills_runtime.skills.skill import Skill

FirstSkills = Mapping[str, str]
"""What was known of skills then, by mention."""


def first_skills(run: Run) -> FirstSkills | None:
    """What the log says of the skills a run began with; nothing where its model was told of no list."""
    first = run.view.conversation.first_skills
    try:
        return unpacked(run.blobs.get(first)) if first else None
    except (SkillsRuntimeError, msgspec.MsgspecError):  # a run that came here without its blobs
        return {}


def as_first(event: SkillInjected, skill: Skill, *known: FirstSkills | None) -> SkillInjected:
    """The event of a skill, which has nothing pass unasked unless the skill is what is known of it."""
    if not event.preapproves or all(_is_known(skill, one) for one in known if one is not None):
        return event
    return msgspec.structs.replace(event, preapproves=False)


def only_first(marks: bytes, known: FirstSkills | None) -> bytes:
    """Marks for a run that another one begins: of skills that are not what is known of them, without their digests."""
    if known is None:
        return marks
    found = unpacked(marks)
    return msgspec.json.encode({name: one if known.get(name) == one else one[:CHARS] for name, one in found.items()})


def _is_known(skill: Skill, known: FirstSkills) -> bool:
    return is_the_same(known.get(inert(skill.mention.text), ""), skill)
