"""unload_skill: deactivate a skill that is no longer needed."""

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.events import SkillUnloaded
from skills_runtime.ports import ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, build_schema, parse


class UnloadSkillArguments(Arguments, frozen=True):
    """Arguments of unload_skill."""

    name: Annotated[str, Meta(min_length=1, description="The name or mention of an active skill.")]


class UnloadSkill:
    """Ends the permissions of an active skill; its text is dropped at the next compaction."""

    spec = ToolSpec(
        name="unload_skill",
        description="Deactivate a skill that you no longer need.",
        parameters=build_schema(UnloadSkillArguments),
        effect="read",
    )

    def __init__(self, *, active: Callable[[], Collection[str]]) -> None:
        self._active = active

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Deactivate the skill."""
        name = parse(arguments, UnloadSkillArguments).name
        matches = [mention for mention in self._active() if mention == name or mention.endswith(f"].{name}")]
        if len(matches) != 1:
            active_names = ", ".join(f"`{mention}`" for mention in sorted(self._active())) or "none"
            raise ToolError("not_found", f"no active skill is called `{name[:100]}`", hint=f"active: {active_names}")
        context.emit(SkillUnloaded(mention_text=matches[0], reason="the model is done with it"))
        return ToolResult(ok=True, stdout=f"`{matches[0]}` is no longer active")
