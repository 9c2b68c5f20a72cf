"""Copies the directory of one skill out of what was fetched: plain files, safe names, nothing from outside."""

import os
import shutil
import stat
from pathlib import Path

from skills_runtime.errors import ValidationFailed
from skills_runtime.skills.install.hashing import MAX_BYTES, MAX_FILES
from skills_runtime.skills.install.names import refuse_clashes, refused, safe_parts

LEFT_OUT = frozenset({".git", "node_modules", "__pycache__"})
"""Directories that are no part of a skill: history, what others wrote, and what nobody can read."""
_LITTER = frozenset({".DS_Store"})


def copy_skill(skill: Path, into: Path, *, within: Path) -> None:
    """Copy a skill to a new directory; links are followed as long as they stay `within` what was fetched."""
    outer = Path(os.path.realpath(within))
    copying = _Copying(outer, into)
    copying.directory(Path(os.path.realpath(skill)), (), frozenset())
    refuse_clashes(copying.files, copying.directories)


class _Copying:
    """A copy under way, and what it has met."""

    def __init__(self, outer: Path, into: Path) -> None:
        self.files: list[tuple[str, ...]] = []
        self.directories: list[tuple[str, ...]] = []
        self._outer = outer
        self._into = into
        self._size = 0

    def directory(self, source: Path, parts: tuple[str, ...], above: frozenset[Path]) -> None:
        """Copy what is in a directory; `above` has those on the way to it, so that no link turns in a circle."""
        target = self._into.joinpath(*parts)
        target.mkdir(mode=0o755)
        with os.scandir(source) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        for entry in listed:
            if entry.name in LEFT_OUT or entry.name in _LITTER:
                continue
            here = (*parts, entry.name)
            safe_parts("/".join(here))
            self._entry(Path(entry.path), here, above | {source})

    def _entry(self, source: Path, here: tuple[str, ...], above: frozenset[Path]) -> None:
        real = source
        if source.is_symlink():
            real = Path(os.path.realpath(source))
            if not real.is_relative_to(self._outer) or real in above or not real.exists():
                raise refused("/".join(here), "it is a link that leads out of what was fetched, or nowhere")
        mode = real.lstat().st_mode
        if stat.S_ISDIR(mode):
            self.directories.append(here)
            self._room(0)
            self.directory(real, here, above)
        elif stat.S_ISREG(mode):
            self.files.append(here)
            self._file(real, here, mode)
        else:
            raise refused("/".join(here), "it is a device, a pipe or something else that is no file")

    def _file(self, source: Path, here: tuple[str, ...], mode: int) -> None:
        target = self._into.joinpath(*here)
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755 if mode & stat.S_IXUSR else 0o644)
        with open(fd, "wb") as file, source.open("rb") as content:
            shutil.copyfileobj(content, file)
            self._room(file.tell())

    def _room(self, size: int) -> None:
        self._size += size
        if self._size > MAX_BYTES or len(self.files) + len(self.directories) > MAX_FILES:
            raise ValidationFailed(
                f"the skill has more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB",
                hint="a skill is small; keep its data elsewhere",
            )
