"""From a call to what the rules look at."""

from skills_runtime.ports import Intent, ToolSpec
from skills_runtime.safety.guard.facts import Facts


def assess(spec: ToolSpec, intent: Intent | None) -> Facts:
    """What a call would do, as far as its tool can tell."""
    return Facts(tool=spec.name, effect=spec.effect, escalated=intent is not None and intent.escalated)
