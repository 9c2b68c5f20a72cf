"""Routing: select the skills that a task calls for, and why, without asking a model."""

from skills_runtime.skills.routing.ranking import SkillIndex, Tuning, index_library, index_skills
from skills_runtime.skills.routing.route import (
    Routing,
    Rule,
    SkillChoice,
    build_routing_event,
    route_skills,
    search_index,
)

__all__ = [
    "Routing",
    "Rule",
    "SkillChoice",
    "SkillIndex",
    "Tuning",
    "build_routing_event",
    "index_library",
    "index_skills",
    "route_skills",
    "search_index",
]
