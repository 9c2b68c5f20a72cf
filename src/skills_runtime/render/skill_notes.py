"""One-line notes about skill events, shared by the terminal, the HTML page and the transcript.

Pure. The transcript contains these sentences, so changing one needs another `transcript.SCHEMA`.
"""

from skills_runtime.events import (
    Payload,
    SkillCatalogOffered,
    SkillInjected,
    SkillInjectionSkipped,
    SkillRouted,
    SkillUnloaded,
)

DECLARED_RULES = ("trigger", "path")
"""Routing rules that a skill declares itself."""

MAX_NAMES = 5
"""How many skills of a kind are listed by name."""


def skill_note(payload: Payload) -> str:
    """Return the note of a skill event; empty for events that add nothing."""
    match payload:
        case SkillInjectionSkipped() as skipped:
            return _describe_skipped(skipped)
        case SkillInjected(render="fork", mention_text=mention, source=source):
            return f"a run of its own works on `{mention}`" if source == "tool" else ""
        case SkillInjected(mention_text=mention, skill_name=name):
            return f"`{mention or name}` is active"
        case SkillUnloaded(mention_text=mention, reason=reason):
            return _with_reason(f"`{mention}` is no longer active", reason)
        case SkillCatalogOffered(text=text) as news if text:
            kinds = (("new", news.added), ("changed", news.changed), ("gone", news.removed))
            return _with_reason(
                "skills have changed", "; ".join(f"{kind}: {_join_names(names)}" for kind, names in kinds if names)
            )
        case SkillCatalogOffered(level=level, reason=reason) if level != "full":
            return _with_reason("the model does not get all of its skills", reason)
        case SkillRouted(choices=choices):
            declared = (choice for choice in choices if choice.rule in DECLARED_RULES)
            return "; ".join(
                _with_reason(f"`{skill.mention}` is called for by a {skill.rule}", skill.reason) for skill in declared
            )
        case _:
            return ""


def is_skill_notice(payload: Payload) -> bool:
    """Return whether the event reports a requested skill that is not available."""
    return isinstance(payload, SkillInjectionSkipped)


def _describe_skipped(skipped: SkillInjectionSkipped) -> str:
    """Describe why a requested skill was skipped; reason codes become sentences."""
    subject = f"the skill `{skipped.skill_name}` was left out"
    if skipped.reason == "missing_env_var":
        names = ", ".join(f"`{name}`" for name in skipped.missing_env_vars)
        return _with_reason(subject, f"missing variables: {names}" if names else "a required variable is missing")
    if skipped.reason == "render_none":
        return _with_reason(subject, "`prompt.skill_injection.render` is `none`")
    return skipped.reason if " " in skipped.reason else _with_reason(subject, skipped.reason)


def _join_names(names: list[str]) -> str:
    listed_names = ", ".join(f"`{name}`" for name in names[:MAX_NAMES])
    return f"{listed_names} and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else listed_names


def _with_reason(subject: str, reason: str) -> str:
    return f"{subject}: {reason}" if reason else subject
