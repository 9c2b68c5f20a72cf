"""skill_ref_read: a reference file of a skill, as text."""

import asyncio
import codecs
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.ports import Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.skills.activation import Reference, read_reference
from skills_runtime.skills.library import Library
from skills_runtime.skills.mentions import parse_mention
from skills_runtime.skills.problems import SkillError, failure
from skills_runtime.tools.arguments import Arguments, parse, schema_of
from skills_runtime.tools.builtin.skill_exec import skill_named, told

DEFAULT_BYTES = 65_536
MAX_BYTES = 16 << 20


class SkillRefReadArguments(Arguments, frozen=True):
    """What skill_ref_read takes."""

    skill_mention: Annotated[str, Meta(description="The skill, as exactly one mention such as `$[web:mvp].writer`.")]
    ref_path: Annotated[str, Meta(min_length=1, description="The file, such as `references/guide.md`.")]
    max_bytes: Annotated[int, Meta(ge=1, le=MAX_BYTES, description="How many bytes to read at most.")] | None = None


class SkillRefRead:
    """Reads reference files of skills."""

    spec = ToolSpec(
        name="skill_ref_read",
        description="Read a reference file of a skill.",
        parameters=schema_of(SkillRefReadArguments),
        effect="read",
        hidden_results=("stdout",),
        listed=False,
    )

    def __init__(
        self, library: Library, *, enabled: bool, allow_assets: bool = False, default_max_bytes: int = DEFAULT_BYTES
    ) -> None:
        self._library = library
        self._enabled = enabled
        self._allow_assets = allow_assets
        self._default_max_bytes = default_max_bytes

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """The skill it is about."""
        return Intent(skill=skill_named(parse(arguments, SkillRefReadArguments).skill_mention))

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Read it."""
        wanted = parse(arguments, SkillRefReadArguments)
        try:
            found = await asyncio.to_thread(self._read, wanted)
        except SkillError as error:
            raise told(error) from error
        # A character cut in two at the limit is left out rather than shown as damage.
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(found.data, final=not found.truncated)
        data = {"skill": wanted.skill_mention, "path": wanted.ref_path, "bytes": len(found.data)}
        return ToolResult(ok=True, stdout=text, truncated=found.truncated, data=data)

    def _read(self, wanted: SkillRefReadArguments) -> Reference:
        if not self._enabled:
            raise failure(
                "SKILL_REFERENCES_DISABLED",
                "reading reference files of skills is off",
                hint="set `skills.references.enabled: true`",
            )
        skill = self._library.find(parse_mention(wanted.skill_mention))
        limit = wanted.max_bytes or self._default_max_bytes
        return read_reference(skill, wanted.ref_path, limit=limit, allow_assets=self._allow_assets)
