"""Sends files of an execution or a run: never through a link, in pieces, and the range that was asked for.

A file that nobody vetted is previewed on an origin of its own, without script or network.
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
"""An opaque origin: no script, no form, no request, not even to us."""
_IMAGES = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/avif", "image/vnd.microsoft.icon"}
)
_DOCUMENTS: Mapping[str, str] = {"text/html": "text/html; charset=utf-8", "image/svg+xml": "image/svg+xml"}
_TEXTS = frozenset(
    {"application/json", "application/jsonl", "application/yaml", "application/toml", "application/xml"}
    | {"application/x-ipynb+json", "application/x-sh", "application/sql"}
)
WantsPreview = Annotated[
    bool | None, Query(alias="preview", description="To look at it, as far as that is safe, instead of to save it.")
]
PIECE_BYTES = 256 * 1024
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_RANGE = re.compile(r"bytes=([0-9]{0,19})-([0-9]{0,19})")


class Preview(msgspec.Struct, frozen=True):
    """What a file is shown as, and what it may do then."""

    media_type: str
    policy: str

    def headers(self, file_name: str) -> dict[str, str]:
        """The headers of the answer: a frame of our own page may show it, and nobody else's."""
        return {
            "Content-Disposition": f'inline; filename="{file_name}"',
            "Content-Security-Policy": self.policy,
            "X-Frame-Options": "SAMEORIGIN",
            "X-Content-Type-Options": "nosniff",
        }


def find_preview(name: str) -> Preview | None:
    """How a file of this name is looked at, or nothing where it is only something to save."""
    mime = media_type(name).partition(";")[0]
    if mime in _DOCUMENTS:
        return Preview(_DOCUMENTS[mime], _SANDBOXED)
    if mime in _IMAGES:
        return Preview(mime, _SANDBOXED)
    if mime.startswith("text/") or mime in _TEXTS:
        return Preview(TEXT, _SANDBOXED)
    return None


def parse_inner_path(text: str) -> tuple[str, ...]:
    """The names of a path that stays inside; any other is refused."""
    parts = relative_parts(text)
    if parts is None or not text.isprintable() or len(text) > 4096:
        raise ValidationFailed(f"{text[:80]!a} is not a path inside", hint="give a relative path as it was listed")
    return parts


def open_inside(directory: Path, parts: Sequence[str]) -> int:
    """A regular file below a directory, open for reading; no link on the way is followed."""
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
    """A response that sends an open file, or the one range of it that was asked for, and closes it.

    It is something to save, unless a `preview` says how it may be looked at.
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
    """The first and the last byte to send; nothing where no byte of the file was asked for."""
    matched = _RANGE.fullmatch(range_header.strip()) if range_header else None
    if matched is None or matched.group(1, 2) == ("", ""):
        return 0, size - 1  # no range, or one of a form that may be ignored
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
            size = min(PIECE_BYTES, last - first + 1)
            piece = await asyncio.to_thread(os.pread, descriptor, size, first)
            if not piece:
                return
            yield piece
            first += len(piece)
    finally:
        os.close(descriptor)


def _not_found(parts: Sequence[str]) -> NotFound:
    name = "/".join(parts)[:200]
    return NotFound(
        f"there is no file {name!a}", hint="list the files to see what there is", resource="file", name=name
    )
