"""Skills with `context: fork` that a task names: runs of their own work on them, before the model is asked anything.

Pure. Where that cannot be, they are worked on like any other skill, and whoever named them is told.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from skills_runtime.events.payloads import SkillInjected, SkillInjectionSkipped
from skills_runtime.skills.activation.arguments import MAX_CHARS
from skills_runtime.skills.catalog.fields import wants_own_run
from skills_runtime.skills.prompt.injection import Injected
from skills_runtime.skills.skill import Skill

TOO_LONG = f"what it shall be about has more than {MAX_CHARS:,} characters"


class OwnRuns(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a run may have others work on the skills of its task."""

    possible: bool = False
    reason: str = ""
    """Why not, where whoever named such a skill should know."""


class Apart(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of the skills of a task."""

    here: tuple[Injected, ...]
    """Those that are worked on in the run itself."""
    called: tuple[SkillInjected, ...] = ()
    """Those that runs of their own work on, each with what it shall be about."""
    told: tuple[SkillInjectionSkipped, ...] = ()


def set_apart(injected: Sequence[Injected], written: Mapping[str, str], task: str, own_runs: OwnRuns) -> Apart:
    """Which skills are worked on elsewhere; `written` says how the task writes those that it names, by mention."""
    wanting = [one for one in injected if wants_own_run(one.skill) and one.event.mention_text in written]
    names = {written[one.event.mention_text]: one.skill.name for one in wanting}
    here, called, told = list(injected), list[SkillInjected](), list[SkillInjectionSkipped]()
    for one in wanting:
        about = _about(one, names, written[one.event.mention_text], task)
        reason = own_runs.reason or (TOO_LONG if own_runs.possible and len(about) > MAX_CHARS else "")
        if reason:
            told.append(_told(one.skill, reason))
        elif own_runs.possible:
            here.remove(one)
            called.append(msgspec.structs.replace(one.event, render="fork", size=0, arguments=about))
    return Apart(here=tuple(here), called=tuple(called), told=tuple(told))


def _about(one: Injected, names: Mapping[str, str], written: str, task: str) -> str:
    """What a skill shall be about: what stands behind its name, or else the whole task.

    In it the skills that have runs of their own are names and no mentions, or each run would work on all of them.
    """
    text = one.event.arguments or (task.strip() if task.strip() != written else "")
    for mention, name in names.items():
        text = re.sub(f"{re.escape(mention)}(?![\\w-])", name, text)
    return text


def _told(skill: Skill, reason: str) -> SkillInjectionSkipped:
    said = f"`{skill.mention.text}` is worked on in this run and not by one of its own: {reason}"
    return SkillInjectionSkipped(skill_name=skill.name, reason=said)
