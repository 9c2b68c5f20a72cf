"""The manifest of a layer as bytes; a name that is no text is written so that it can be read again.

A byte of such a name that is no character stands behind a zero, which no name can hold, as two digits.
"""

import re
from collections.abc import Callable

import msgspec

from skills_runtime.sandbox.overlay.values import Change, Difference, Entry, Manifest

_STRAY = re.compile("[\udc80-\udcff]")
_WRITTEN = re.compile("\0([89a-f][0-9a-f])")
_ZERO = b"\\u0000"

Rename = Callable[[str], str]


def encoded(manifest: Manifest) -> bytes:
    """The manifest as it is kept."""
    try:
        return msgspec.json.encode(manifest)
    except UnicodeEncodeError:
        return msgspec.json.encode(_with_names(manifest, _written))


def decoded(data: bytes) -> Manifest:
    """The manifest that was kept; raises `msgspec.MsgspecError` for what is none."""
    manifest = msgspec.json.decode(data, type=Manifest)
    return _with_names(manifest, _read) if _ZERO in data else manifest


def printable(found: Difference) -> Difference:
    """The same with bytes that are no characters as people write them, for where only text can go."""
    return Difference(changes=tuple(map(_printable, found.changes)), withheld=tuple(map(_printable, found.withheld)))


def _printable(change: Change) -> Change:
    return msgspec.structs.replace(
        change,
        path=_shown(change.path),
        before=change.before and _with_content(change.before, _shown),
        after=change.after and _with_content(change.after, _shown),
    )


def _with_content(entry: Entry, change: Rename) -> Entry:
    return msgspec.structs.replace(entry, content=change(entry.content))


def _shown(text: str) -> str:
    return _STRAY.sub(lambda stray: f"\\x{ord(stray[0]) - 0xDC00:02x}", text)


def _with_names(manifest: Manifest, change: Rename) -> Manifest:
    return msgspec.structs.replace(
        manifest,
        workspace=change(manifest.workspace),
        base={change(path): _with_content(entry, change) for path, entry in manifest.base.items()},
        stamps={change(path): stamp for path, stamp in manifest.stamps.items()},
        left_out=tuple(map(change, manifest.left_out)),
    )


def _written(text: str) -> str:
    return _STRAY.sub(lambda stray: f"\0{ord(stray[0]) - 0xDC00:02x}", text)


def _read(text: str) -> str:
    return _WRITTEN.sub(lambda stray: chr(0xDC00 + int(stray[1], 16)), text)
