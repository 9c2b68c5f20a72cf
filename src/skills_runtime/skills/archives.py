"""Unpack untrusted archives: everything is checked before the first byte is written.

Supports zip (also named `.skill`) and tar, with or without gzip. Written bytes are counted while unpacking, because the
sizes in an archive's headers cannot be trusted. Paths that mean different things on different systems are refused.
"""

import gzip
import re
import stat
import struct
import tarfile
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Literal, Protocol

import msgspec

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.storage import open_new, remove_tree
from skills_runtime.text import one_line

MAX_NAME_BYTES = 200
MAX_PATH_BYTES = 800
MAX_PATH_DEPTH = 24
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\.|$)")
_UNPORTABLE_CHARS = frozenset('<>:"|?*\\')
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_SHOWN_CHARS = 120


def split_safe_path(path: str) -> tuple[str, ...]:
    """Split a relative path into its names; refuse a path that is not portable."""
    text = path.removesuffix("/")
    while text.startswith("./"):
        text = text[2:]
    if text == ".":
        return ()
    if not text or text.startswith("/"):
        raise unsafe_path_error(path, "it is not relative to the skill")
    parts = tuple(text.split("/"))
    if len(parts) > MAX_PATH_DEPTH:
        raise unsafe_path_error(path, f"it is nested more than {MAX_PATH_DEPTH} deep")
    for part in parts:
        if problem := _find_name_problem(part):
            raise unsafe_path_error(path, problem)
    if len(text.encode(errors="surrogatepass")) > MAX_PATH_BYTES:
        raise unsafe_path_error(path, f"it is longer than {MAX_PATH_BYTES} bytes")
    return parts


def refuse_clashes(files: Iterable[tuple[str, ...]], directories: Iterable[tuple[str, ...]] = ()) -> None:
    """Refuse paths that collide on some system: duplicates, or paths that differ only in case or accents."""
    first_paths: dict[tuple[str, ...], tuple[tuple[str, ...], bool]] = {}
    for path, is_file in [*((path, True) for path in files), *((path, False) for path in directories)]:
        for length in range(1, len(path) + 1):
            prefix = path[:length]
            final = is_file and length == len(path)
            previous = first_paths.setdefault(tuple(map(_fold, prefix)), (prefix, final))
            if previous[0] != prefix:
                raise unsafe_path_error(
                    "/".join(prefix), f"it is the same as `{'/'.join(previous[0])}` where case does not count"
                )
            if (final or previous[1]) and previous != (prefix, final):
                raise unsafe_path_error("/".join(prefix), "it is both a file and a directory")
    seen_files: set[tuple[str, ...]] = set()
    for path in files:
        if path in seen_files:
            raise unsafe_path_error("/".join(path), "it occurs twice")
        seen_files.add(path)


def unsafe_path_error(path: str, reason: str) -> ValidationFailed:
    """Build the error for a path that a skill must not contain."""
    return ValidationFailed(
        f"`{one_line(path, limit=_SHOWN_CHARS)}` cannot be part of a skill: {reason}",
        hint="nothing was installed; ask the skill's author for a version without it",
        details={"code": "SKILL_INSTALL_UNSAFE_PATH"},
    )


def _find_name_problem(part: str) -> str | None:
    checks = (
        (part in ("", ".", ".."), "it leads out of the skill, or nowhere"),
        (
            any(unicodedata.category(char) in _INVISIBLE_CATEGORIES for char in part),
            "it holds invisible characters",
        ),
        (bool(_UNPORTABLE_CHARS.intersection(part)), "it holds a character that is not portable"),
        (part.endswith((".", " ")) or part.startswith(" "), "some systems drop its last or first character"),
        (_RESERVED.match(part) is not None, "it is a device name on some systems"),
        (len(part.encode(errors="surrogatepass")) > MAX_NAME_BYTES, f"a name has more than {MAX_NAME_BYTES} bytes"),
        (part.casefold() == ".git" or part.casefold().startswith("git~"), "it would be taken for a git repository"),
    )
    return next((reason for is_bad, reason in checks if is_bad), None)


def _fold(part: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", part).casefold())


ArchiveKind = Literal["zip", "tar"]

_CHUNK_BYTES = 1 << 16
_IGNORED_NAMES = ("__MACOSX", ".DS_Store")


class ArchiveLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on the contents of an archive."""

    archive_bytes: int = 64 << 20
    members: int = 5_000
    file_bytes: int = 64 << 20
    total_bytes: int = 128 << 20
    ratio: int = 200
    """Maximum growth factor of a file larger than `ratio_from`."""
    ratio_from: int = 1 << 20
    directory_bytes: int = 4 << 20
    """Maximum size of a zip's central directory."""


class ArchiveMember(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of an archive, as the archive describes it."""

    name: str
    kind: Literal["file", "directory", "link", "special"]
    size: int = 0
    packed: int | None = None
    executable: bool = False
    encrypted: bool = False


class Content(Protocol):
    """The bytes of one file, read once."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, empty at the end."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class Archive(Protocol):
    """An archive whose member list has been read."""

    def members(self) -> Sequence[ArchiveMember]:
        """Return all members in archive order."""
        ...

    def open(self, index: int) -> Content:
        """Open the member at this index."""
        ...


def unpack(archive: Path, into: Path, limits: ArchiveLimits | None = None) -> None:
    """Write the contents of an archive to a new directory, or refuse and remove everything written."""
    allowed = limits or ArchiveLimits()
    try:
        size = archive.stat().st_size
    except OSError as error:
        raise NotFound(f"the archive `{archive}` cannot be read: {error.strerror}", hint="check the path") from error
    if size > allowed.archive_bytes:
        raise bad_archive_error(f"it has {size} bytes, and the limit is {allowed.archive_bytes}")
    open_archive = open_zip if detect_archive_kind(archive) == "zip" else open_tar
    with open_archive(archive, allowed) as contents:
        members = contents.members()
        targets = check_members(members, allowed)
        try:
            _write(contents, members, targets, into, allowed)
        except BaseException:
            remove_tree(into)
            raise


def detect_archive_kind(archive: Path) -> ArchiveKind:
    """Detect the type of an archive from its first bytes, ignoring its name."""
    with archive.open("rb") as file:
        start = file.read(265)
    if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return "zip"
    if start[:2] == b"\x1f\x8b" or start[257:262] == b"ustar":
        return "tar"
    raise bad_archive_error("it is neither a zip nor a tar")


def check_members(members: Sequence[ArchiveMember], limits: ArchiveLimits) -> list[tuple[str, ...] | None]:
    """Return the target of each member, `None` for ignored files; refuse anything but plain files and directories."""
    if len(members) > limits.members:
        raise bad_archive_error(f"it has {len(members)} entries, and the limit is {limits.members}")
    targets: list[tuple[str, ...] | None] = []
    for member in members:
        parts = split_safe_path(member.name)
        _refuse_unsupported(member, limits)
        targets.append(None if parts and (parts[0] in _IGNORED_NAMES or parts[-1] in _IGNORED_NAMES) else parts)
    if sum(member.size for member in members) > limits.total_bytes:
        raise bad_archive_error(f"it would unpack to more than {limits.total_bytes >> 20} MiB")
    pairs = list(zip(members, targets, strict=True))
    refuse_clashes(
        [parts for member, parts in pairs if parts is not None and member.kind == "file"],
        [parts for member, parts in pairs if parts is not None and member.kind == "directory"],
    )
    return targets


def bad_archive_error(reason: str) -> ValidationFailed:
    """Build the error for an archive that is refused."""
    return ValidationFailed(
        f"the archive was refused: {reason}",
        hint="nothing was unpacked; a skill is a small archive of plain files",
        details={"code": "SKILL_INSTALL_BAD_ARCHIVE"},
    )


def _refuse_unsupported(member: ArchiveMember, limits: ArchiveLimits) -> None:
    if member.kind == "link":
        raise unsafe_path_error(member.name, "it is a link")
    if member.kind == "special":
        raise unsafe_path_error(member.name, "it is a device, a pipe or another special file")
    if member.encrypted:
        raise unsafe_path_error(member.name, "it is encrypted, so its contents cannot be checked")
    if member.kind == "file" and not split_safe_path(member.name):
        raise unsafe_path_error(member.name, "it has no name")
    if member.size < 0 or member.size > limits.file_bytes:
        raise bad_archive_error(f"`{member.name[:100]}` would have more than {limits.file_bytes >> 20} MiB")
    if member.packed is not None and is_archive_bomb(member.size, member.packed, limits):
        raise bad_archive_error(f"`{member.name[:100]}` would grow more than {limits.ratio} times")


def is_archive_bomb(size: int, packed: int, limits: ArchiveLimits) -> bool:
    """Return whether a file grows more than a plain file can."""
    return size > limits.ratio_from and size > max(packed, 1) * limits.ratio


def _write(
    archive: Archive,
    members: Sequence[ArchiveMember],
    targets: Sequence[tuple[str, ...] | None],
    into: Path,
    limits: ArchiveLimits,
) -> None:
    into.mkdir(mode=0o700)
    remaining = limits.total_bytes
    for index, (member, parts) in enumerate(zip(members, targets, strict=True)):
        if not parts:
            continue
        target = into.joinpath(*parts)
        if member.kind == "directory":
            target.mkdir(mode=0o755, parents=True, exist_ok=True)
            continue
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        # Only the executable bit is kept: setuid and setgid bits must never be installed.
        fd = open_new(target, mode=0o755 if member.executable else 0o644)
        with open(fd, "wb") as file, closing(archive.open(index)) as content:
            for piece in _read_exactly(content, member):
                file.write(piece)
                remaining -= len(piece)
                if remaining < 0:
                    raise bad_archive_error("it holds more than its headers say")


def _read_exactly(content: Content, member: ArchiveMember) -> Iterator[bytes]:
    remaining = member.size
    while piece := content.read(min(_CHUNK_BYTES, remaining + 1)):
        remaining -= len(piece)
        if remaining < 0:
            raise bad_archive_error(f"`{member.name[:100]}` is longer than the archive says")
        yield piece
    if remaining:
        raise bad_archive_error(f"`{member.name[:100]}` is shorter than the archive says")


_GZIP = b"\x1f\x8b"
_TAR_OVERHEAD_BYTES = 2 << 20
"""Allowance for tar headers and block padding."""


class TarContents:
    """The contents of an open tar."""

    def __init__(self, archive: tarfile.TarFile, limits: ArchiveLimits) -> None:
        self._archive = archive
        self._infos: list[tarfile.TarInfo] = []
        for info in archive:
            self._infos.append(info)
            if len(self._infos) > limits.members:
                raise bad_archive_error(f"it lists more than {limits.members} entries")

    def members(self) -> Sequence[ArchiveMember]:
        """Return all members."""
        return [_tar_member(info) for info in self._infos]

    def open(self, index: int) -> Content:
        """Open the content of a file."""
        content = self._archive.extractfile(self._infos[index])
        if content is None:
            raise bad_archive_error("an entry of it has no content")
        return content


@contextmanager
def open_tar(path: Path, limits: ArchiveLimits) -> Generator[TarContents]:
    """Open a tar; gzip is first unpacked into an anonymous temporary file."""
    with path.open("rb") as packed, tempfile.TemporaryFile() as plain:
        is_packed = packed.read(2) == _GZIP
        packed.seek(0)
        if is_packed:
            _inflate(packed, plain, limits, path.stat().st_size)
        try:
            with tarfile.open(fileobj=plain if is_packed else packed, mode="r:", errorlevel=2) as archive:
                yield TarContents(archive, limits)
        except (tarfile.TarError, EOFError, UnicodeError, ValueError, OverflowError) as error:
            raise bad_archive_error(f"it is not a readable tar: {error}") from error


def _inflate(packed: IO[bytes], plain: IO[bytes], limits: ArchiveLimits, packed_size: int) -> None:
    size, max_size = 0, limits.total_bytes + _TAR_OVERHEAD_BYTES
    try:
        with gzip.GzipFile(fileobj=packed) as content:
            while piece := content.read(_CHUNK_BYTES):
                size += len(piece)
                if size > max_size or is_archive_bomb(size, packed_size, limits):
                    raise bad_archive_error("it would unpack to far more than any skill")
                plain.write(piece)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise bad_archive_error("its gzip is damaged") from error
    plain.seek(0)


def _tar_member(info: tarfile.TarInfo) -> ArchiveMember:
    if info.isreg() and not info.issparse():
        kind = "file"
    elif info.isdir():
        kind = "directory"
    else:
        kind = "link" if info.islnk() or info.issym() else "special"
    return ArchiveMember(
        name=info.name, kind=kind, size=info.size if kind == "file" else 0, executable=bool(info.mode & 0o100)
    )


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

    def members(self) -> Sequence[ArchiveMember]:
        """Return all members; refuse entries whose bytes overlap."""
        end = 0
        for info in sorted(self._infos, key=lambda item: item.header_offset):
            if info.header_offset < end:
                raise bad_archive_error("its entries overlap, as in an archive bomb")
            end = info.header_offset + _LOCAL_HEADER + len(info.orig_filename) + info.compress_size
        return [_zip_member(info) for info in self._infos]

    def open(self, index: int) -> Content:
        """Open an entry; its checksum is verified at the end."""
        return _Entry(self._archive.open(self._infos[index]))


class _Entry:
    """A zip entry that reports damage as our own error."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner

    def read(self, size: int, /) -> bytes:
        """Return the next bytes."""
        try:
            return self._inner.read(size)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise bad_archive_error("an entry of it is damaged") from error

    def close(self) -> None:
        """Close the entry."""
        self._inner.close()


@contextmanager
def open_zip(path: Path, limits: ArchiveLimits) -> Generator[ZipContents]:
    """Open a zip whose central directory has a bounded size."""
    with path.open("rb") as file:
        _check_end_record(file, limits)
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OSError) as error:
            raise bad_archive_error(f"it is not a readable zip: {error}") from error
        with archive:
            try:
                yield ZipContents(archive)
            except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
                raise bad_archive_error(f"it contradicts itself: {error}") from error


def _check_end_record(file: IO[bytes], limits: ArchiveLimits) -> None:
    """Check the end record alone, before `zipfile` creates an object per entry."""
    file.seek(0, 2)
    size = file.tell()
    file.seek(max(0, size - _END.size - (1 << 16)))
    tail = file.read()
    end_offset = tail.rfind(_END_MARK)
    if end_offset < 0 or len(tail) - end_offset < _END.size:
        raise bad_archive_error("it has no end record")
    _, disk, first_disk, disk_entries, total_entries, directory_bytes, _, _ = _END.unpack_from(tail, end_offset)
    if disk or first_disk or disk_entries != total_entries:
        raise bad_archive_error("it is part of a multi-part zip")
    if _LARGE_MARK in tail[max(0, end_offset - 20) : end_offset] or 0xFFFF in (disk_entries, total_entries):
        raise bad_archive_error("it is a zip64, which no skill is large enough to need")
    if directory_bytes > limits.directory_bytes or total_entries > limits.members:
        raise bad_archive_error(f"it lists more than {limits.members} entries")
    file.seek(0)


def _zip_member(info: zipfile.ZipInfo) -> ArchiveMember:
    if info.compress_type not in _METHODS:
        raise bad_archive_error("it uses an unsupported compression method")
    mode = info.external_attr >> 16 if info.create_system == _UNIX else 0
    is_directory = info.orig_filename.endswith("/")
    kind = _KINDS.get(stat.S_IFMT(mode), "special")
    if is_directory != (kind == "directory") and kind in ("file", "directory") and stat.S_IFMT(mode):
        raise bad_archive_error(
            f"`{info.orig_filename[:100]}` has a name and a mode that disagree on whether it is a directory"
        )
    return ArchiveMember(
        name=info.orig_filename,
        kind="directory" if is_directory and kind == "file" else kind,  # pyright: ignore[reportArgumentType]
        size=info.file_size,
        packed=info.compress_size,
        executable=bool(mode & stat.S_IXUSR),
        encrypted=bool(info.flag_bits & _ENCRYPTED),
    )
