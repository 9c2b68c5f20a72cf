"""list_dir: list a directory and what is below it, page by page."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.ports import Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.text import escape_controls
from skills_runtime.tools.arguments import Arguments, build_schema, parse
from skills_runtime.tools.files import build_file_intent
from skills_runtime.tools.search import Walk, normalize_path

_MARKS = {"directory": "/", "symlink": "@", "special": "?", "file": ""}


class ListDirArguments(Arguments, frozen=True):
    """Arguments of list_dir."""

    dir_path: Annotated[str, Meta(description="The directory; `.` is the working directory.")]
    depth: Annotated[int, Meta(ge=1, le=100, description="Number of levels to show.")] = 2
    offset: Annotated[int, Meta(ge=1, description="The first entry to show, counted from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=1000, description="Maximum number of entries.")] = 25


class ListDir:
    """Lists a directory."""

    spec = ToolSpec(
        name="list_dir",
        description="List a directory and its subdirectories. Hidden entries are left out and counted.",
        parameters=build_schema(ListDirArguments),
        effect="read",
        example={"dir_path": "."},
    )

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the directory that the call lists."""
        return build_file_intent(context.files, "list", parse(arguments, ListDirArguments).dir_path)

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """List the directory."""
        args = parse(arguments, ListDirArguments)
        walk = Walk(context.files, depth=args.depth)
        entries = list(walk.entries(normalize_path(args.dir_path)))
        page = entries[args.offset - 1 : args.offset - 1 + args.limit]
        total = len(entries)
        last = args.offset + len(page) - 1
        more = last < total and bool(page)
        notes = [
            (not page, f"no entry {args.offset} of {total}" if total else "nothing to show"),
            (more, f"entries {args.offset} to {last} of {total}; continue with offset={last + 1}"),
            (not walk.complete, "there are more entries than could be counted: list a subdirectory"),
            (walk.hidden, f"{walk.hidden} hidden entries are left out"),
            (walk.refused, f"{walk.refused} directories may not be listed"),
        ]
        lines = [escape_controls(entry.relative) + _MARKS[entry.kind] for entry in page]
        data = {
            "entries": [{"rel_path": entry.relative, "path": entry.path, "type": entry.kind} for entry in page],
            "total": total,
            "complete": walk.complete,
            "hidden": walk.hidden,
            "refused": walk.refused,
        }
        lines += [f"[{note}]" for applies, note in notes if applies]
        return ToolResult(ok=True, stdout="\n".join(lines), truncated=more or not walk.complete, data=data)
