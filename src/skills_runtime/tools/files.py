"""Shared code of the file tools: intents, previews with diffs, and results that hold the start of a text.

Reads files only for previews, which records nothing.
"""

import codecs
import hashlib
from typing import Any

import msgspec

from skills_runtime.ports import Files, FileTouch, Intent, ToolResult, Touch
from skills_runtime.text import unified_diff

MAX_DIFF_BYTES = 1 << 20
"""Limit for each side; larger files are described by size and digest."""
MAX_PREVIEW_BYTES = 64 << 20


def build_file_intent(files: Files, touch: Touch, path: str) -> Intent:
    """Build the intent of a call that touches one file or directory."""
    return Intent(files=(build_file_touch(files, touch, path),))


def build_file_touch(files: Files, touch: Touch, path: str) -> FileTouch:
    """Describe what a call does to a path, including the real path behind links."""
    real = files.real(path)
    return FileTouch(path=path, touch=touch, real=real if real != path else "")


def preview_replacement(files: Files, path: str, content: bytes | None) -> FileTouch:
    """Preview a write of `content`, or a deletion if it is None, against the current file."""
    old_content = files.glance(path, limit=MAX_PREVIEW_BYTES)
    touch: Touch = "delete" if content is None else "create" if old_content is None else "overwrite"
    digest = hashlib.sha256(old_content).hexdigest() if old_content is not None else None
    diff = render_diff(path, old_content, content)
    return msgspec.structs.replace(build_file_touch(files, touch, path), before_sha256=digest, diff=diff)


def render_diff(path: str, old_content: bytes | None, new_content: bytes | None) -> str:
    """Render a unified diff, or one line with sizes and digests for binary and large files."""
    old, new = _lines(old_content), _lines(new_content)
    if old is None or new is None:
        return f"{path}: {_size(old_content)} -> {_size(new_content)}"
    names = "/dev/null" if old_content is None else f"a/{path}", "/dev/null" if new_content is None else f"b/{path}"
    return "\n".join(line.rstrip("\n") for line in unified_diff(old, new, names))


def text_result(data: bytes, limit: int, facts: dict[str, Any], note: str = "") -> ToolResult:
    """Return the first `limit` bytes as text, with the `note` if there are more; `facts` are added to the data."""
    truncated, content = len(data) > limit, data[:limit]
    # A character cut in two at the limit is left out rather than shown as damage.
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(content, final=not truncated)
    return ToolResult(
        ok=True,
        stdout=text,
        stderr=note if truncated else "",
        truncated=truncated,
        data={**facts, "bytes": len(content)},
    )


def _lines(content: bytes | None) -> list[str] | None:
    if content is None:
        return []
    if len(content) > MAX_DIFF_BYTES or b"\0" in content:
        return None
    try:
        return content.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return None


def _size(content: bytes | None) -> str:
    if content is None:
        return "nothing"
    return f"{len(content)} bytes (sha256 {hashlib.sha256(content).hexdigest()[:16]}…)"
