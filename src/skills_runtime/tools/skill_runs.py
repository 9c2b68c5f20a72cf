"""A skill that runs by itself, as its action `run`: what people and rules see of it, and who does it."""

from typing import Any, Protocol

from skills_runtime.errors import ToolError
from skills_runtime.ports import ToolContext, ToolResult
from skills_runtime.skills.skill import Skill

MAX_INPUT_BYTES = 120_000
"""More than a person who approves a call would ever read."""
INPUT = "SKILL_INPUT"
"""How the input is shown among the variables of the command; the skill reads it from its standard input."""


class RunsSkills(Protocol):
    """Executes skills for the calls of a run."""

    async def run(self, skill: Skill, value: Any, context: ToolContext) -> ToolResult:
        """Execute the skill with this input, and return when nothing of it is left."""
        ...


class RunsNone:
    """Refuses: nobody who executes skills was given."""

    async def run(self, skill: Skill, value: Any, context: ToolContext) -> ToolResult:
        """Raise."""
        del value, context
        raise ToolError(
            "permission", f"`{skill.mention.text}` cannot be executed here", hint="only its other actions can be used"
        )


def shown_variables(skill: Skill, value: Any) -> dict[str, str]:
    """What an approval names besides the variables of the skill: its input, which is the same in each equal call."""
    return {"SKILL_NAME": skill.name, INPUT: input_text(value)}


def input_text(value: Any) -> str:
    """The input as the skill reads it, in ASCII; nothing at all is an empty object."""
    import json

    text = json.dumps(value or {})
    if len(text) > MAX_INPUT_BYTES:
        raise ToolError(
            "validation",
            f"the input is longer than {MAX_INPUT_BYTES} bytes",
            hint="write it into a file, and give the skill its path",
        )
    return text
