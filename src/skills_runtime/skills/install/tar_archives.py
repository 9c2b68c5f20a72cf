"""Tar archives, packed with gzip or not."""

import gzip
import tarfile
import tempfile
import zlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from skills_runtime.skills.install.archives import ArchiveLimits, Content, Member, bad_archive, is_bomb

_PIECE = 1 << 16
_GZIP = b"\x1f\x8b"
_HEADERS = 2 << 20
"""Room for what a tar has besides files: headers, and blocks filled up."""


class TarContents:
    """The contents of an open tar."""

    def __init__(self, archive: tarfile.TarFile, limits: ArchiveLimits) -> None:
        self._archive = archive
        self._infos: list[tarfile.TarInfo] = []
        for info in archive:
            self._infos.append(info)
            if len(self._infos) > limits.members:
                raise bad_archive(f"it lists more than {limits.members} entries")

    def members(self) -> Sequence[Member]:
        """Everything in it."""
        return [_member(info) for info in self._infos]

    def open(self, index: int) -> Content:
        """The content of a file."""
        content = self._archive.extractfile(self._infos[index])
        if content is None:
            raise bad_archive("an entry of it has no content")
        return content


@contextmanager
def opened_tar(path: Path, limits: ArchiveLimits) -> Generator[TarContents]:
    """A tar, unpacked from its gzip into a file without a name first."""
    with path.open("rb") as packed, tempfile.TemporaryFile() as plain:
        is_packed = packed.read(2) == _GZIP
        packed.seek(0)
        if is_packed:
            _inflate(packed, plain, limits, path.stat().st_size)
        try:
            with tarfile.open(fileobj=plain if is_packed else packed, mode="r:", errorlevel=2) as archive:
                yield TarContents(archive, limits)
        except (tarfile.TarError, EOFError, UnicodeError, ValueError, OverflowError) as error:
            raise bad_archive(f"it is no tar that can be read: {error}") from error


def _inflate(packed: IO[bytes], plain: IO[bytes], limits: ArchiveLimits, packed_size: int) -> None:
    size, most = 0, limits.total_bytes + _HEADERS
    try:
        with gzip.GzipFile(fileobj=packed) as content:
            while piece := content.read(_PIECE):
                size += len(piece)
                if size > most or is_bomb(size, packed_size, limits):
                    raise bad_archive("it would unpack to far more than any skill")
                plain.write(piece)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise bad_archive("its gzip is damaged") from error
    plain.seek(0)


def _member(info: tarfile.TarInfo) -> Member:
    if info.isreg() and not info.issparse():
        kind = "file"
    elif info.isdir():
        kind = "directory"
    else:
        kind = "link" if info.islnk() or info.issym() else "special"
    return Member(
        name=info.name, kind=kind, size=info.size if kind == "file" else 0, executable=bool(info.mode & 0o100)
    )
