"""search_skills: find skills, including those that do not fit into the list for the model."""

import asyncio
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.ports import ToolContext, ToolResult, ToolSpec
from skills_runtime.skills import SEARCH_TOOL, Library, SkillIndex, build_entries, index_skills, search_index
from skills_runtime.tools.arguments import Arguments, build_schema, parse

DESCRIPTION_CHARS = 400


class SearchSkillsArguments(Arguments, frozen=True):
    """Arguments of search_skills."""

    query: Annotated[str, Meta(min_length=1, max_length=2000, description="What the skill should help with.")]
    limit: Annotated[int, Meta(ge=1, le=50, description="Maximum number of skills.")] = 10


class SearchSkills:
    """Finds skills by words."""

    spec = ToolSpec(
        name=SEARCH_TOOL,
        description="Find skills for a purpose, including those that are not in the list of available skills.",
        parameters=build_schema(SearchSkillsArguments),
        effect="read",
    )

    def __init__(self, library: Library) -> None:
        self._library = library

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Search the skills."""
        args = parse(arguments, SearchSkillsArguments)
        entries = await asyncio.to_thread(self._search, args)
        lines = [entry.line(DESCRIPTION_CHARS) for entry in entries]
        names = [entry.mention for entry in entries]
        return ToolResult(ok=True, stdout="\n".join(lines) or "no skill matches", data={"skills": names})

    def _search(self, args: SearchSkillsArguments) -> Any:
        choices = search_index(args.query, self._index, limit=args.limit)
        return [entry for choice in choices for entry in build_entries([choice.skill])]

    @cached_property
    def _index(self) -> SkillIndex:
        return index_skills(self._library.list())
