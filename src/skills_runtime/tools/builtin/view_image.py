"""view_image: show an image to the model.

The result names the blob with the image; the prompt includes it as an image, not as text.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.ports import Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, build_schema, parse
from skills_runtime.tools.files import build_file_intent
from skills_runtime.tools.images import recognize_image

MAX_BYTES = 5 << 20


class ViewImageArguments(Arguments, frozen=True):
    """Arguments of view_image."""

    path: Annotated[str, Meta(description="A PNG, JPEG, GIF or WebP file, relative to the working directory.")]


class ViewImage:
    """Shows an image."""

    spec = ToolSpec(
        name="view_image",
        description="Look at an image (PNG, JPEG, GIF or WebP, at most 5 MiB).",
        parameters=build_schema(ViewImageArguments),
        effect="read",
        example={"path": "dot.gif"},
    )

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the file that the call reads."""
        return build_file_intent(context.files, "read", parse(arguments, ViewImageArguments).path)

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Read and check the image."""
        args = parse(arguments, ViewImageArguments)
        content = context.files.read(args.path, limit=MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ToolError("validation", f"`{args.path}` is larger than {MAX_BYTES} bytes", hint="make it smaller")
        info = recognize_image(content)
        if info is None or not info.is_plausible:
            raise ToolError(
                "validation",
                f"`{args.path}` is not a complete PNG, JPEG, GIF or WebP image of a supported size",
                hint="convert it, or read it as a file",
            )
        image = {
            "media_type": info.mime,
            "blob": context.keep(content),
            "bytes": len(content),
            "width": info.width,
            "height": info.height,
        }
        summary = f"{args.path}: {info.mime}, {info.width} x {info.height} pixels, {len(content)} bytes"
        return ToolResult(ok=True, stdout=summary, data={"path": args.path, "image": image})
