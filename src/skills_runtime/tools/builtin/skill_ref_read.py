"""skill_ref_read: the seed's name for `read_skill_file`, by exact mention and only below `references/`."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.ports import Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.skills import ASSETS, REFERENCES, Library, SkillError, failure, parse_mention
from skills_runtime.tools.arguments import Arguments, build_schema, parse
from skills_runtime.tools.builtin.read_skill_file import DEFAULT_BYTES, read_skill_text
from skills_runtime.tools.builtin.skill_exec import resolve_skill_name, skill_tool_error


class SkillRefReadArguments(Arguments, frozen=True):
    """Arguments of skill_ref_read."""

    skill_mention: Annotated[str, Meta(description="The skill, as exactly one mention such as `$[web:mvp].writer`.")]
    ref_path: Annotated[str, Meta(min_length=1, description="The file, such as `references/guide.md`.")]
    max_bytes: Annotated[int, Meta(ge=1, le=16 << 20, description="Maximum number of bytes.")] | None = None


class SkillRefRead:
    """Reads reference files of skills."""

    spec = ToolSpec(
        name="skill_ref_read",
        description="Read a reference file of a skill.",
        parameters=build_schema(SkillRefReadArguments),
        effect="read",
        hidden_results=("stdout",),
        listed=False,
    )

    def __init__(
        self, library: Library, *, enabled: bool, allow_assets: bool = False, default_max_bytes: int = DEFAULT_BYTES
    ) -> None:
        self._library = library
        self._enabled = enabled
        self._folders = (REFERENCES, ASSETS) if allow_assets else (REFERENCES,)
        self._default_max_bytes = default_max_bytes

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the skill that the file belongs to."""
        return Intent(skill=resolve_skill_name(parse(arguments, SkillRefReadArguments).skill_mention))

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Read the file."""
        args = parse(arguments, SkillRefReadArguments)
        try:
            if not self._enabled:
                raise failure(
                    "SKILL_REFERENCES_DISABLED",
                    "reading reference files of skills is disabled",
                    hint="set `skills.references.enabled: true`",
                )
            skill = await asyncio.to_thread(self._library.find, parse_mention(args.skill_mention))
        except SkillError as error:
            raise skill_tool_error(error) from error
        limit = args.max_bytes or self._default_max_bytes
        return await read_skill_text(skill, args.ref_path, limit=limit, folders=self._folders)
