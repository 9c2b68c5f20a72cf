"""read_skill_file: read a text file that comes with a skill."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.ports import Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.skills import CurrentSkills, Library, Skill, SkillError, read_skill_file
from skills_runtime.tools.arguments import Arguments, build_schema, parse
from skills_runtime.tools.builtin.skill_exec import skill_tool_error
from skills_runtime.tools.files import text_result

DEFAULT_BYTES = 65_536
MAX_BYTES = 4 << 20


class ReadSkillFileArguments(Arguments, frozen=True):
    """Arguments of read_skill_file."""

    name: Annotated[str, Meta(min_length=1, description="The name or mention of the skill.")]
    path: Annotated[str, Meta(min_length=1, max_length=4096, description="The file, from the skill's directory.")]
    max_bytes: Annotated[int, Meta(ge=1, le=MAX_BYTES, description="Maximum number of bytes.")] = DEFAULT_BYTES


class ReadSkillFile:
    """Reads files of skills and nothing else."""

    spec = ToolSpec(
        name="read_skill_file",
        description="Read a file of an available skill, such as a reference or a template.",
        parameters=build_schema(ReadSkillFileArguments),
        effect="read",
        hidden_results=("stdout",),
    )

    def __init__(self, library: Library, *, active: Callable[[], Collection[str]]) -> None:
        self._library = library
        self._current_skills = CurrentSkills(library)
        self._active = active

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the skill that the file belongs to."""
        skill = self._skill(parse(arguments, ReadSkillFileArguments).name)
        return Intent(skill=f"{skill.namespace}.{skill.name}")

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Read the file."""
        args = parse(arguments, ReadSkillFileArguments)
        return await read_skill_text(self._skill(args.name), args.path, limit=args.max_bytes)

    def _skill(self, name: str) -> Skill:
        # Includes skills that only users may call, and skills that others shadow.
        active = self._active()
        active_matches = (
            candidate
            for candidate in self._library.all()
            if candidate.mention.text in active and name in (candidate.name, candidate.mention.text)
        )
        skill = next(active_matches, None) or self._current_skills().find(name)
        if skill is None:
            raise ToolError("not_found", f"there is no skill `{name[:100]}`", hint="use a name from the list")
        return skill


async def read_skill_text(skill: Skill, path: str, *, limit: int, folders: Collection[str] = ()) -> ToolResult:
    """Read the start of a skill file as text; with `folders`, only a file below one of them."""
    try:
        data = await asyncio.to_thread(read_skill_file, skill, path, limit=limit + 1, folders=folders)
    except SkillError as error:
        raise skill_tool_error(error) from error
    return text_result(data, limit, {"skill": skill.mention.text, "path": path})
