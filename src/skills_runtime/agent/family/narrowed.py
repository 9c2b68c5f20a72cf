"""What a sub-agent is given, never more than the agent that begins it has, and what is asked of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from skills_runtime.agent.budget import Budget, SharedBudget, child_budget
from skills_runtime.agent.equipment import ChildProfile, Equipment
from skills_runtime.runs import Run
from skills_runtime.tools import Registry

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

MAX_DEPTH = 3
FAMILY = frozenset({"spawn_agent", "wait", "send_input", "close_agent", "resume_agent"})
"""The tools that need a family."""


def narrowed(
    equipment: Equipment, run: Run, budget: Budget, *, profile: str, shared_budget: SharedBudget | None
) -> Equipment:
    """The equipment of a child of this run, which shares its budget."""
    chosen = (equipment.profiles or {}).get(profile) or ChildProfile()
    depth = equipment.depth + 1
    names = {tool.spec.name for tool in equipment.tools} - (FAMILY if depth >= MAX_DEPTH else frozenset())
    only, library = equipment.only, equipment.library
    if chosen.tools is not None:
        names &= chosen.tools
        only = chosen.tools if only is None else only & chosen.tools
    left = child_budget(run.view, budget)
    if chosen.max_steps is not None:
        left = msgspec.structs.replace(left, max_steps=min(left.max_steps, chosen.max_steps))
    return msgspec.structs.replace(
        equipment,
        tools=Registry(*(tool for tool in equipment.tools if tool.spec.name in names)),
        only=only,
        budget=left,
        shared_budget=shared_budget,
        depth=depth,
        hooks=(),
        library=library.only(chosen.skills) if library is not None and chosen.skills is not None else library,
        first_skills=_first_skills(equipment, run),
    )


def for_a_part(resolved: "Resolved") -> "Resolved":
    """The settings without deliverables, the form of the answer and review, which are asked of the whole task."""
    from dataclasses import replace

    settings = resolved.settings
    whole: dict[str, Any] = {
        "run": settings.run.model_copy(update={"review": "none", "output_schema": None}),
        "deliverables": settings.deliverables.model_copy(update={"required": ()}),
    }
    return replace(resolved, settings=settings.model_copy(update=whole))


def _first_skills(equipment: Equipment, run: Run) -> Mapping[str, str] | None:
    """What this run knows of the skills it began with, which its own parent may have known better."""
    if equipment.library is None:
        return equipment.first_skills
    from skills_runtime.agent.skills.first import first_skills

    known = first_skills(run)
    return known if known is not None else equipment.first_skills
