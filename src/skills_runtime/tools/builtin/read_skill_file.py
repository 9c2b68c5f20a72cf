"""read_skill_file: a file that a skill brings along, as text."""

import asyncio
import codecs
import errno
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.ports import Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.skills.activation import NamesNow
from skills_runtime.skills.library import Library
from skills_runtime.skills.skill import Skill
from skills_runtime.storage.nofollow import error_reason, open_directory, read_below, relative_parts
from skills_runtime.tools.arguments import Arguments, parse, schema_of

DEFAULT_BYTES = 65_536
MAX_BYTES = 4 << 20
SECRETS = ".env"


class ReadSkillFileArguments(Arguments, frozen=True):
    """What read_skill_file takes."""

    name: Annotated[str, Meta(min_length=1, description="The name or mention of the skill.")]
    path: Annotated[str, Meta(min_length=1, max_length=4096, description="The file, from the skill's directory.")]
    max_bytes: Annotated[int, Meta(ge=1, le=MAX_BYTES, description="How many bytes to read at most.")] = DEFAULT_BYTES


class ReadSkillFile:
    """Reads files of skills, and nothing beside them."""

    spec = ToolSpec(
        name="read_skill_file",
        description="Read a file that an available skill brings along, such as a reference or a template.",
        parameters=schema_of(ReadSkillFileArguments),
        effect="read",
        hidden_results=("stdout",),
    )

    def __init__(self, library: Library, *, active: Callable[[], Collection[str]]) -> None:
        self._library = library
        self._named = NamesNow(library)
        self._active = active

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """The skill it is about."""
        skill = self._skill(parse(arguments, ReadSkillFileArguments).name)
        return Intent(skill=f"{skill.namespace}.{skill.name}")

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Read it."""
        wanted = parse(arguments, ReadSkillFileArguments)
        skill = self._skill(wanted.name)
        data = await asyncio.to_thread(_read, skill, wanted.path, wanted.max_bytes + 1)
        cut = len(data) > wanted.max_bytes
        # A character cut in two at the limit is left out rather than shown as damage.
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(data[: wanted.max_bytes], final=not cut)
        facts = {"skill": skill.mention.text, "path": wanted.path, "bytes": min(len(data), wanted.max_bytes)}
        return ToolResult(ok=True, stdout=text, truncated=cut, data=facts)

    def _skill(self, name: str) -> Skill:
        active = self._active()  # also those that only people may call, and that others hide
        own = (
            one for one in self._library.all() if one.mention.text in active and name in (one.name, one.mention.text)
        )
        found = next(own, None) or self._named().find(name)
        if found is None:
            raise ToolError("not_found", f"there is no skill `{name[:100]}`", hint="use a name from the list")
        return found


def _read(skill: Skill, path: str, limit: int) -> bytes:
    directory, parts = skill.directory, relative_parts(path.removeprefix("./"))
    if directory is None:
        raise ToolError("validation", f"`{skill.mention.text}` brings no files", hint="activate it to get its text")
    if parts is None or any(part.startswith(SECRETS) for part in parts):
        raise ToolError(
            "permission", f"{path[:200]!a} is not a file that may be read", hint="write it from the skill's directory"
        )
    try:
        with open_directory(directory) as top:
            return read_below(top, parts, limit=limit)
    except OSError as error:
        kind = "not_found" if error.errno in (errno.ENOENT, errno.ENOTDIR) else "permission"
        raise ToolError(
            kind, f"{path[:200]!a} of `{skill.mention.text}` cannot be read: {error_reason(error)}"
        ) from error
