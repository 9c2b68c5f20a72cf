"""Zip archives, read with no trust in what they say of themselves."""

import stat
import struct
import zipfile
import zlib
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from skills_runtime.skills.install.archives import ArchiveLimits, Content, Member, bad_archive

_END = struct.Struct("<4sHHHHIIH")
_END_MARK = b"PK\x05\x06"
_LARGE_MARK = b"PK\x06\x07"
_LOCAL_HEADER = 30
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_UNIX = 3
_KINDS = {0: "file", stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}


class ZipContents:
    """The contents of an open zip."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._infos = archive.infolist()

    def members(self) -> Sequence[Member]:
        """Everything in it; entries that share bytes with each other are refused."""
        _refuse_overlaps(self._infos)
        return [_member(info) for info in self._infos]

    def open(self, index: int) -> Content:
        """The content of an entry; its checksum is compared at its end."""
        return _Entry(self._archive.open(self._infos[index]))


class _Entry:
    """An entry whose damage is told as ours."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner

    def read(self, size: int, /) -> bytes:
        """The next bytes."""
        try:
            return self._inner.read(size)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise bad_archive("an entry of it is damaged") from error

    def close(self) -> None:
        """Let the entry go."""
        self._inner.close()


@contextmanager
def opened_zip(path: Path, limits: ArchiveLimits) -> Generator[ZipContents]:
    """A zip whose list of contents is of a bounded size."""
    with path.open("rb") as file:
        _check_end(file, limits)
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OSError) as error:
            raise bad_archive(f"it is no zip that can be read: {error}") from error
        with archive:
            try:
                yield ZipContents(archive)
            except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
                raise bad_archive(f"it contradicts itself: {error}") from error


def _check_end(file: IO[bytes], limits: ArchiveLimits) -> None:
    """Look at the last record alone, before a library makes an object of every entry."""
    file.seek(0, 2)
    size = file.tell()
    file.seek(max(0, size - _END.size - (1 << 16)))
    tail = file.read()
    place = tail.rfind(_END_MARK)
    if place < 0 or len(tail) - place < _END.size:
        raise bad_archive("it is a zip without an end")
    _, disk, first_disk, here, whole, directory_bytes, _, _ = _END.unpack_from(tail, place)
    if disk or first_disk or here != whole:
        raise bad_archive("it is a part of a divided zip")
    if _LARGE_MARK in tail[max(0, place - 20) : place] or 0xFFFF in (here, whole):
        raise bad_archive("it is a zip64, which no skill is large enough to need")
    if directory_bytes > limits.directory_bytes or whole > limits.members:
        raise bad_archive(f"it lists more than {limits.members} entries")
    file.seek(0)


def _refuse_overlaps(infos: Iterable[zipfile.ZipInfo]) -> None:
    end = 0
    for info in sorted(infos, key=lambda one: one.header_offset):
        if info.header_offset < end:
            raise bad_archive("its entries share bytes, as those of a bomb do")
        end = info.header_offset + _LOCAL_HEADER + len(info.orig_filename) + info.compress_size


def _member(info: zipfile.ZipInfo) -> Member:
    if info.compress_type not in _METHODS:
        raise bad_archive("it is packed in a way that other programs cannot read")
    mode = info.external_attr >> 16 if info.create_system == _UNIX else 0
    is_directory = info.orig_filename.endswith("/")
    kind = _KINDS.get(stat.S_IFMT(mode), "special")
    if is_directory != (kind == "directory") and kind in ("file", "directory") and stat.S_IFMT(mode):
        raise bad_archive(f"`{info.orig_filename[:100]}` is a file by its name and a directory by its mode, or so")
    return Member(
        name=info.orig_filename,
        kind="directory" if is_directory and kind == "file" else kind,  # pyright: ignore[reportArgumentType]
        size=info.file_size,
        packed=info.compress_size,
        executable=bool(mode & stat.S_IXUSR),
        encrypted=bool(info.flag_bits & _ENCRYPTED),
    )
