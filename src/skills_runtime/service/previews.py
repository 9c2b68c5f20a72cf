"""How a file that nobody vetted may be looked at in a browser: on an origin of its own, without script or network.

Pure.
"""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from fastapi import Query

from skills_runtime.runs.files.media import media_type

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


def preview_of(name: str) -> Preview | None:
    """How a file of this name is looked at, or nothing where it is only something to save."""
    found = media_type(name).partition(";")[0]
    if found in _DOCUMENTS:
        return Preview(_DOCUMENTS[found], _SANDBOXED)
    if found in _IMAGES:
        return Preview(found, _SANDBOXED)
    if found.startswith("text/") or found in _TEXTS:
        return Preview(TEXT, _SANDBOXED)
    return None
