"""What a command can read and write behind its fence, as whoever approves it should see."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

TOLD_PATHS = 30
"""Of each list; of what is longer the number is told."""


class FileAccess(msgspec.Struct, frozen=True, kw_only=True):
    """Places by what a command can do there; where one lies in another, the inner one counts."""

    workspace: Path
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    """What can be read and not written, besides the system."""
    system: tuple[str, ...] = ()
    """Programs and settings of the machine, which can be read as well."""
    temporary: str = ""
    """Where only the command sees what it writes, which is gone afterwards; nothing if there is no such place."""
    protected: tuple[Path, ...] = ()
    """What cannot be written, or made, although the directory it lies in can."""
    hidden: tuple[Path, ...] = ()
    """What can neither be read nor written."""

    def told(self) -> dict[str, Any]:
        """All of it as plain data of bounded size: each list by its beginning, and how much of it is left out."""
        lists = {
            "writable": self.writable,
            "readable": self.readable,
            "system": self.system,
            "protected": self.protected,
            "hidden": self.hidden,
        }
        left_out = {name: len(paths) - TOLD_PATHS for name, paths in lists.items() if len(paths) > TOLD_PATHS}
        return {
            "workspace": _text(self.workspace),
            **{name: list(_texts(paths)) for name, paths in lists.items()},
            "temporary": self.temporary,
            "left_out": left_out,
        }


def _texts(paths: Iterable[Path | str]) -> Iterable[str]:
    return (_text(path) for path, _ in zip(paths, range(TOLD_PATHS), strict=False))


def _text(path: Path | str) -> str:
    """The path as text, also where its name is none."""
    return str(path).encode(errors="backslashreplace").decode()
