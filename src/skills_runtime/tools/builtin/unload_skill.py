"""unload_skill: a skill that is done with."""

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.events import SkillUnloaded
from skills_runtime.ports import ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, build_schema, parse


class UnloadSkillArguments(Arguments, frozen=True):
    """What unload_skill takes."""

    name: Annotated[str, Meta(min_length=1, description="The name or mention of an active skill.")]


class UnloadSkill:
    """Ends what an active skill permits; its text goes when the conversation is next summed up."""

    spec = ToolSpec(
        name="unload_skill",
        description="Say that you are done with a skill that is active.",
        parameters=build_schema(UnloadSkillArguments),
        effect="read",
    )

    def __init__(self, *, active: Callable[[], Collection[str]]) -> None:
        self._active = active

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Unload it."""
        name = parse(arguments, UnloadSkillArguments).name
        matches = [mention for mention in self._active() if mention == name or mention.endswith(f"].{name}")]
        if len(matches) != 1:
            active_names = ", ".join(f"`{mention}`" for mention in sorted(self._active())) or "none"
            raise ToolError("not_found", f"no active skill is called `{name[:100]}`", hint=f"active: {active_names}")
        context.emit(SkillUnloaded(mention_text=matches[0], reason="the model is done with it"))
        return ToolResult(ok=True, stdout=f"`{matches[0]}` is not active any more")
