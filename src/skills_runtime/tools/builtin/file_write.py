"""file_write: a whole file, replaced atomically."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.ports import FileTouch, Intent, SandboxPermissions, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, build_schema, parse
from skills_runtime.tools.files import build_file_touch, preview_replacement


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
        parameters=build_schema(FileWriteArguments),
        effect="idempotent",
        hidden_arguments=("content",),
        example={"path": "b.txt", "content": "secret content"},
    )

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """The file it is about."""
        args = parse(arguments, FileWriteArguments)
        return _intent(args, build_file_touch(context.files, "overwrite", args.path))

    async def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """What would change in it."""
        args = parse(arguments, FileWriteArguments)
        return _intent(args, preview_replacement(context.files, args.path, args.content.encode()))

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Write it."""
        args = parse(arguments, FileWriteArguments)
        create_dirs = args.create_dirs if args.mkdirs is None else args.mkdirs
        size = context.files.write(args.path, args.content.encode(), create_dirs=create_dirs)
        return ToolResult(ok=True, stdout=f"wrote {size} bytes to {args.path}", data={"path": args.path, "bytes": size})


def _intent(args: FileWriteArguments, file: FileTouch) -> Intent:
    return Intent(
        files=(file,),
        escalated=args.sandbox_permissions == "require_escalated",
        justification=args.justification or "",
    )
