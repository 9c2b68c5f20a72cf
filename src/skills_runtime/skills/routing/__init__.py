"""Routing: which skills a task calls for, and why, without asking a model."""

from skills_runtime.skills.routing.index import SkillIndex, Tuning, index_for, index_of
from skills_runtime.skills.routing.route import Choice, Routing, Rule, route, routed, search

__all__ = [
    "Choice",
    "Routing",
    "Rule",
    "SkillIndex",
    "Tuning",
    "index_for",
    "index_of",
    "route",
    "routed",
    "search",
]
