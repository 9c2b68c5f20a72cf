"""Which skills a model was told of, and which skills a task called for."""

from typing import ClassVar, Literal

import msgspec

from skills_runtime.events.envelope import Payload


class RoutedSkill(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One skill that a task calls for, and the rule that says so."""

    mention: str
    rule: str
    score: float = 0.0
    reason: str = ""


class SkillRouted(Payload, frozen=True):
    """It was decided which skills a task calls for, the best first; with `model` the model has the last word."""

    event_type: ClassVar[str] = "skill_routed"
    asked: str
    decided_by: str = "model"
    considered: int = 0
    choices: list[RoutedSkill] = []


class SkillCatalogOffered(Payload, frozen=True):
    """The model was told of skills, or of what became of them; what it was not told in full is counted."""

    event_type: ClassVar[str] = "skill_catalog_offered"
    level: Literal["full", "shortened", "names", "search"]
    offered: int
    shortened: int = 0
    omitted: int = 0
    hidden: int = 0
    tokens: int = 0
    budget_tokens: int = 0
    digest: str = ""
    reason: str = ""
    added: list[str] = []
    """Mentions of skills that came while the run was at work."""
    changed: list[str] = []
    """Mentions of those that say something else since then."""
    removed: list[str] = []
    """Mentions of those that are gone since then."""
    text: str = ""
    """What the model was told of such a change; the list at the beginning is part of the system text."""
    skills_blob: str | None = None
    """Holds what the model knows of all skills by now: the digest of what each says of itself, by mention."""
