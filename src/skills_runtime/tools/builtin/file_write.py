"""file_write: create or replace a file atomically."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.ports import FileTouch, Intent, SandboxPermissions, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, build_schema, parse
from skills_runtime.tools.files import build_file_touch, preview_replacement


class FileWriteArguments(Arguments, frozen=True):
    """Arguments of file_write."""

    path: Annotated[str, Meta(description="The file, relative to the working directory.")]
    content: Annotated[str, Meta(description="The whole new content.")]
    create_dirs: Annotated[bool, Meta(description="Create missing directories.")] = True
    mkdirs: Annotated[bool, Meta(description="Another name for `create_dirs`.")] | None = None
    sandbox_permissions: (
        Annotated[SandboxPermissions, Meta(description="`require_escalated` asks the user to review the change.")]
        | None
    ) = None
    justification: (
        Annotated[str, Meta(max_length=2000, description="Why it is needed; shown to the approver.")] | None
    ) = None


class FileWrite:
    """Writes a file."""

    spec = ToolSpec(
        name="file_write",
        description="Create a file or replace its content. Put results for the user below `deliverables/`.",
        parameters=build_schema(FileWriteArguments),
        effect="idempotent",
        contained=True,
        hidden_arguments=("content",),
        example={"path": "b.txt", "content": "secret content"},
    )

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the file that the call touches."""
        args = parse(arguments, FileWriteArguments)
        return _intent(args, build_file_touch(context.files, "overwrite", args.path))

    async def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the change to the file."""
        args = parse(arguments, FileWriteArguments)
        return _intent(args, preview_replacement(context.files, args.path, args.content.encode()))

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Write the file."""
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
