"""Send files of executions and runs: in pieces, with range support, and never through links.

Untrusted files are previewed in an opaque origin without scripts or network.
"""

import asyncio
import errno
import os
import re
import stat
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from fastapi import Query
from starlette.responses import Response, StreamingResponse

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.storage import media_type, open_below, open_directory, relative_parts

TEXT = "text/plain; charset=utf-8"
_SANDBOXED = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""An opaque origin: no scripts, no forms, no requests, not even to this service."""
_IMAGES = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/avif", "image/vnd.microsoft.icon"}
)
_DOCUMENTS: Mapping[str, str] = {"text/html": "text/html; charset=utf-8", "image/svg+xml": "image/svg+xml"}
_TEXTS = frozenset(
    {"application/json", "application/jsonl", "application/yaml", "application/toml", "application/xml"}
    | {"application/x-ipynb+json", "application/x-sh", "application/sql"}
)
WantsPreview = Annotated[
    bool | None, Query(alias="preview", description="Show the file as safely as possible instead of downloading it.")
]
CHUNK_BYTES = 256 * 1024
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_RANGE = re.compile(r"bytes=([0-9]{0,19})-([0-9]{0,19})")


class Preview(msgspec.Struct, frozen=True):
    """Media type and content security policy of a preview."""

    media_type: str
    policy: str

    def headers(self, file_name: str) -> dict[str, str]:
        """Return the response headers; only pages of this service may show it in a frame."""
        return {
            "Content-Disposition": f'inline; filename="{file_name}"',
            "Content-Security-Policy": self.policy,
            "X-Frame-Options": "SAMEORIGIN",
            "X-Content-Type-Options": "nosniff",
        }


def find_preview(name: str) -> Preview | None:
    """Return how to preview a file of this name, or `None` if it can only be downloaded."""
    mime = media_type(name).partition(";")[0]
    if mime in _DOCUMENTS:
        return Preview(_DOCUMENTS[mime], _SANDBOXED)
    if mime in _IMAGES:
        return Preview(mime, _SANDBOXED)
    if mime.startswith("text/") or mime in _TEXTS:
        return Preview(TEXT, _SANDBOXED)
    return None


def parse_inner_path(text: str) -> tuple[str, ...]:
    """Return the parts of a relative path; raise `ValidationFailed` for any path that could leave the directory."""
    parts = relative_parts(text)
    if parts is None or not text.isprintable() or len(text) > 4096:
        raise ValidationFailed(f"{text[:80]!a} is not a valid relative path", hint="use a path as it was listed")
    return parts


def open_inside(directory: Path, parts: Sequence[str]) -> int:
    """Open a regular file below a directory for reading, without following links; return the descriptor."""
    try:
        with open_directory(directory) as top:
            descriptor = open_below(top, parts, _READ_FLAGS)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENXIO, errno.EISDIR):
            raise _not_found(parts) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _not_found(parts)
    return descriptor


def send_file(
    descriptor: int,
    *,
    range_header: str | None,
    media_type: str,
    name: str,
    etag: str = "",
    preview: Preview | None = None,
) -> Response:
    """Return a response that sends an open file, or the requested range of it, and then closes it.

    It is a download unless `preview` is given.
    """
    size = os.fstat(descriptor).st_size
    file_name = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    headers = {
        "Accept-Ranges": "bytes",
        "Content-Disposition": f'attachment; filename="{file_name}"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
        **({"ETag": f'"{etag}"'} if etag else {}),
        **(preview.headers(file_name) if preview else {}),
    }
    media_type = preview.media_type if preview else media_type
    span = _parse_range(range_header, size)
    if span is None:
        os.close(descriptor)
        return Response(status_code=416, headers={"Content-Range": f"bytes */{size}"}, media_type=media_type)
    first, last = span
    headers["Content-Length"] = str(max(0, last - first + 1))
    partial = range_header is not None and (first, last) != (0, size - 1)
    if partial:
        headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    status = 206 if partial else 200
    return StreamingResponse(_read_pieces(descriptor, first, last), status, headers=headers, media_type=media_type)


def _parse_range(range_header: str | None, size: int) -> tuple[int, int] | None:
    """Return the first and last byte to send, or `None` if the range lies outside the file."""
    matched = _RANGE.fullmatch(range_header.strip()) if range_header else None
    if matched is None or matched.group(1, 2) == ("", ""):
        return 0, size - 1  # no range, or a form that the specification allows to ignore
    begin, end = matched[1], matched[2]
    if not begin:
        return (max(0, size - int(end)), size - 1) if int(end) and size else None
    last = min(int(end), size - 1) if end else size - 1
    if end and int(end) < int(begin):
        return 0, size - 1
    return (int(begin), last) if int(begin) < size else None


async def _read_pieces(descriptor: int, first: int, last: int) -> AsyncIterator[bytes]:
    try:
        while first <= last:
            size = min(CHUNK_BYTES, last - first + 1)
            piece = await asyncio.to_thread(os.pread, descriptor, size, first)
            if not piece:
                return
            yield piece
            first += len(piece)
    finally:
        os.close(descriptor)


def _not_found(parts: Sequence[str]) -> NotFound:
    name = "/".join(parts)[:200]
    return NotFound(f"there is no file {name!a}", hint="list the files", resource="file", name=name)
