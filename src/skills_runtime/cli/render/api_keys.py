"""Keys of the service, for people and for programs."""

from collections.abc import Iterable, Sequence
from typing import Any, TextIO

import msgspec

from skills_runtime.service.access.keys import ApiKey


def show_new(key: ApiKey, text: str, out: TextIO) -> None:
    """Show a new key to a person, who will not see it again."""
    out.write(f"{text}\n\nThis is the key `{key.name}` ({', '.join(key.scopes)}). It is shown only now.\n")


def write_new(key: ApiKey, text: str, out: TextIO) -> None:
    """Write a new key for a program."""
    _write({**_document(key), "key": text}, out)


def show_keys(keys: Sequence[ApiKey], out: TextIO) -> None:
    """Show keys as a table."""
    if not keys:
        out.write("There are no keys.\n")
        return
    rows = [("NAME", "ID", "SCOPES", "LAST USED", "STATE")]
    for key in keys:
        state = f"revoked {_day(key.revoked_at)}" if key.revoked_at else "valid"
        rows.append((key.name, key.id, ",".join(key.scopes), _day(key.last_used_at) or "never", state))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        out.write("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() + "\n")


def write_keys(keys: Iterable[ApiKey], out: TextIO) -> None:
    """Write keys for a program, without what was kept of their texts."""
    _write([_document(key) for key in keys], out)


def _document(key: ApiKey) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(key).items() if name != "digest"}


def _day(moment: str | None) -> str:
    return moment[:16].replace("T", " ") if moment else ""


def _write(value: Any, out: TextIO) -> None:
    out.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")
