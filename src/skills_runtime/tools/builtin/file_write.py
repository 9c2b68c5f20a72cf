"""file_write: a whole file, replaced atomically."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.ports import FileTouch, Intent, SandboxPermissions, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, parse, schema_of
from skills_runtime.tools.files import replacing, touched


class FileWriteArguments(Arguments, frozen=True):
    """What file_write takes."""

    path: Annotated[str, Meta(description="The file, relative to the working directory.")]
    content: Annotated[str, Meta(description="The whole new content.")]
    create_dirs: Annotated[bool, Meta(description="Create missing directories.")] = True
    mkdirs: Annotated[bool, Meta(description="Another name for `create_dirs`.")] | None = None
    sandbox_permissions: (
        Annotated[SandboxPermissions, Meta(description="`require_escalated` marks what a person should look at.")]
        | None
    ) = None
    justification: (
        Annotated[str, Meta(max_length=2000, description="Why it is needed, for whoever has to approve it.")] | None
    ) = None


class FileWrite:
    """Writes one file of the run."""

    spec = ToolSpec(
        name="file_write",
        description="Create a file or replace its content. Results for the user go below `deliverables/`.",
        parameters=schema_of(FileWriteArguments),
        effect="idempotent",
        hidden_arguments=("content",),
        example={"path": "b.txt", "content": "secret content"},
    )

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """The file it is about."""
        wanted = parse(arguments, FileWriteArguments)
        return _intent(wanted, touched(context.files, "overwrite", wanted.path))

    async def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """What would change in it."""
        wanted = parse(arguments, FileWriteArguments)
        return _intent(wanted, replacing(context.files, wanted.path, wanted.content.encode()))

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Write it."""
        wanted = parse(arguments, FileWriteArguments)
        create_dirs = wanted.create_dirs if wanted.mkdirs is None else wanted.mkdirs
        written = context.files.write(wanted.path, wanted.content.encode(), create_dirs=create_dirs)
        return ToolResult(
            ok=True, stdout=f"wrote {written} bytes to {wanted.path}", data={"path": wanted.path, "bytes": written}
        )


def _intent(wanted: FileWriteArguments, file: FileTouch) -> Intent:
    return Intent(
        files=(file,),
        escalated=wanted.sandbox_permissions == "require_escalated",
        justification=wanted.justification or "",
    )
