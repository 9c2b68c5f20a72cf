"""file_delete: move a file to the trash of the run, where the settings allow deleting."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.ports import Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, build_schema, parse
from skills_runtime.tools.files import build_file_intent, preview_replacement


class FileDeleteArguments(Arguments, frozen=True):
    """Arguments of file_delete."""

    path: Annotated[str, Meta(description="The file, relative to the working directory.")]


class FileDelete:
    """Deletes a file."""

    spec = ToolSpec(
        name="file_delete",
        description="Delete a file, where the user has allowed it; directories are never deleted.",
        parameters=build_schema(FileDeleteArguments),
        effect="effectful",
        contained=True,
        example={"path": "a.txt"},
    )

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the file that the call touches."""
        return build_file_intent(context.files, "delete", parse(arguments, FileDeleteArguments).path)

    async def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the deletion with its diff."""
        path = parse(arguments, FileDeleteArguments).path
        return Intent(files=(preview_replacement(context.files, path, None),))

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Delete the file."""
        args = parse(arguments, FileDeleteArguments)
        context.files.delete(args.path)
        return ToolResult(ok=True, stdout=f"deleted {args.path}", data={"path": args.path})
