"""file_read: the beginning of a file, as text."""

import codecs
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.ports import Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, parse, schema_of
from skills_runtime.tools.intents import touching

DEFAULT_BYTES = 256 * 1024


class FileReadArguments(Arguments, frozen=True):
    """What file_read takes."""

    path: Annotated[str, Meta(description="The file, relative to the working directory.")]
    max_bytes: Annotated[int, Meta(ge=1, le=16 << 20, description="How many bytes to read at most.")] = DEFAULT_BYTES


class FileRead:
    """Reads one file of the run."""

    spec = ToolSpec(
        name="file_read",
        description="Read a text file.",
        parameters=schema_of(FileReadArguments),
        effect="read",
        hidden_results=("stdout",),
    )

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """The file it is about."""
        return touching(context.files, "read", parse(arguments, FileReadArguments).path)

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Read it."""
        wanted = parse(arguments, FileReadArguments)
        data = context.files.read(wanted.path, limit=wanted.max_bytes + 1)
        truncated = len(data) > wanted.max_bytes
        kept = data[: wanted.max_bytes]
        # A character cut in two at the limit is left out rather than shown as damage.
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(kept, final=not truncated)
        note = f"[the file goes on: only its first {len(kept)} bytes were read; read_file shows the rest by lines]"
        return ToolResult(
            ok=True,
            stdout=text,
            stderr=note if truncated else "",
            truncated=truncated,
            data={"path": wanted.path, "bytes": len(kept)},
        )
