"""apply_patch: change several files, all of them or none."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.ports import FileChange, Files, FileTouch, Intent, ToolContext, ToolResult, ToolSpec, Touch
from skills_runtime.tools.arguments import Arguments, build_schema, parse
from skills_runtime.tools.files import build_file_touch, render_diff
from skills_runtime.tools.patch import Section, build_plan, parse_patch, paths_to_read
from skills_runtime.tools.patch.parse import AddFile, DeleteFile, UpdateFile

MAX_FILE_BYTES = 16 << 20
MAX_TOTAL_BYTES = 64 << 20

DESCRIPTION = """\
Change files with one patch, which is applied completely or not at all. Format:
*** Begin Patch
*** Update File: src/a.py
@@ def greet():
 unchanged line
-removed line
+added line
*** Add File: src/b.py
+each line of a new file
*** Delete File: src/c.py
*** End Patch
Copy about three lines of context around each change exactly as they are in the file, without line numbers. `@@` starts
a hunk; a line of the file after it means that the hunk is below that line. `*** Move to: new/path` below
`*** Update File:` renames the file. `*** End of File` ends a hunk at the end of the file."""


class ApplyPatchArguments(Arguments, frozen=True):
    """Arguments of apply_patch."""

    input: Annotated[str, Meta(description="The patch, from `*** Begin Patch` to `*** End Patch`.")]


class ApplyPatch:
    """Changes files of the run."""

    spec = ToolSpec(
        name="apply_patch",
        description=DESCRIPTION,
        parameters=build_schema(ApplyPatchArguments),
        effect="effectful",
        contained=True,
        hidden_arguments=("input",),
        example={"input": "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch"},
    )

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the files that the patch touches."""
        sections = parse_patch(parse(arguments, ApplyPatchArguments).input)
        touches = [
            build_file_touch(context.files, touch, path)
            for section in sections
            for path, touch in _list_touches(section)
        ]
        return Intent(files=tuple(touches))

    async def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the changes to each file."""
        sections = parse_patch(parse(arguments, ApplyPatchArguments).input)
        contents = {path: context.files.glance(path, limit=MAX_FILE_BYTES) or b"" for path in paths_to_read(sections)}
        plan = await asyncio.to_thread(build_plan, sections, contents)
        touches = (touch for change in plan.files for touch in _preview_touches(change, contents))
        return Intent(
            files=tuple(
                msgspec.structs.replace(touch, real=build_file_touch(context.files, touch.touch, touch.path).real)
                for touch in touches
            )
        )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Apply the patch."""
        args = parse(arguments, ApplyPatchArguments)
        sections = parse_patch(args.input)
        contents = _read(context.files, sections)
        # Only the pure part runs in a thread: a cancelled call must not keep changing files.
        plan = await asyncio.to_thread(build_plan, sections, contents)
        context.files.apply(plan.files)
        lines: list[str] = []
        for change in plan.changes:
            target = f" -> {change.moved_to}" if change.moved_to else ""
            lines.append(f"{change.kind} {change.path}{target} (+{change.added} -{change.removed})")
        lines += [f"[{note}]" for note in plan.notes]
        return ToolResult(ok=True, stdout="\n".join(lines), data={"changes": msgspec.to_builtins(list(plan.changes))})


def _list_touches(section: Section) -> list[tuple[str, Touch]]:
    match section:
        case AddFile():
            return [(section.path, "create")]
        case DeleteFile():
            return [(section.path, "delete")]
        case UpdateFile(moved_to=str(target)) if target != section.path:
            return [(section.path, "delete"), (target, "create")]
        case UpdateFile():
            return [(section.path, "change")]


def _preview_touches(change: FileChange, contents: Mapping[str, bytes]) -> list[FileTouch]:
    """Describe the change of a file; a move is a deletion and a creation."""
    old_content = contents.get(change.path) if change.before_sha256 is not None else None
    touch: Touch = "delete" if change.data is None else "create" if old_content is None else "change"
    if change.moved_to is None:
        diff = render_diff(change.path, old_content, change.data)
        return [FileTouch(path=change.path, touch=touch, before_sha256=change.before_sha256, diff=diff)]
    moved = f"{change.path} -> {change.moved_to}\n{render_diff(change.moved_to, old_content, change.data)}"
    return [
        FileTouch(path=change.path, touch="delete", before_sha256=change.before_sha256),
        FileTouch(path=change.moved_to, touch="create", diff=moved),
    ]


def _read(files: Files, sections: Sequence[Section]) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    total = 0
    for path in paths_to_read(sections):
        data = files.read(path, limit=MAX_FILE_BYTES + 1)
        total += len(data)
        if len(data) > MAX_FILE_BYTES:
            raise ToolError("validation", f"`{path}` is too large for a patch", hint="use another tool for it")
        if total > MAX_TOTAL_BYTES:
            raise ToolError("validation", "the files of the patch are too large together", hint="send several patches")
        contents[path] = data
    return contents
