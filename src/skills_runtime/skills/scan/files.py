"""Read the files of a skill within limits, and report suspicious files.

Follows no link and opens only regular files. Compiled code, programs, encrypted archives and links that lead
outside are findings themselves.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec

from skills_runtime.skills.scan.rules import FindingSeverity, SkippedFile
from skills_runtime.storage import Entry, Parts, error_reason, open_directory, walk

MAX_SCANNED_FILES = 2_000
MAX_SCAN_DEPTH = 12
MAX_SCANNED_BYTES = 512_000
"""Bytes read of one file; what comes later is not scanned."""
MAX_TOTAL_BYTES = 8_000_000
_IGNORED = frozenset({".git", "node_modules", ".venv", "venv", ".hg", ".svn"})


class ScannedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the skill: its relative name, its first bytes and its size."""

    name: str
    data: bytes
    size: int
    is_executable: bool = False


class ScannedLink(msgspec.Struct, frozen=True, kw_only=True):
    """A symbolic link, which is reported and not followed."""

    name: str
    target: str
    leads_out: bool


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in a directory that a scan examines."""

    members: tuple[ScannedFile, ...]
    links: tuple[ScannedLink, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()


def collect_files(path: Path) -> Collected:
    """Read the files below a directory, nearest first; return them sorted by name."""
    root = path.resolve()
    collector = _Collector(root)
    with open_directory(root) as top:
        for entry in walk(top, enter=collector.may_enter, on_error=collector.fail):
            if len(collector.members) >= MAX_SCANNED_FILES:
                collector.skip(entry.path, f"there are more than {MAX_SCANNED_FILES} files")
                break
            collector.take(entry)
    return Collected(
        members=tuple(sorted(collector.members, key=lambda member: member.name.split("/"))),
        links=tuple(sorted(collector.links, key=lambda link: link.name.split("/"))),
        skipped=tuple(collector.skipped),
    )


class _Collector:
    """Collects the files of a skill within the byte budget."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.members: list[ScannedFile] = []
        self.links: list[ScannedLink] = []
        self.skipped: list[SkippedFile] = []
        self.remaining_bytes = MAX_TOTAL_BYTES

    def skip(self, name: str, reason: str) -> None:
        self.skipped.append(SkippedFile(file=name, reason=reason))

    def fail(self, parts: Parts, error: OSError) -> None:
        self.skip("/".join(parts) or ".", error_reason(error))

    def may_enter(self, entry: Entry) -> bool:
        if entry.name in _IGNORED:
            self.skip(entry.path, "directories of this name are not looked into")
            return False
        if len(entry.parts) >= MAX_SCAN_DEPTH:
            self.skip(entry.path, f"is more than {MAX_SCAN_DEPTH} directories deep")
            return False
        return True

    def take(self, entry: Entry) -> None:
        try:
            if entry.is_link:
                target = entry.target()
                joined = os.path.normpath(os.path.join(self.root, *entry.parts[:-1], target))
                inside = joined == str(self.root) or joined.startswith(f"{self.root}{os.sep}")
                self.links.append(ScannedLink(name=entry.path, target=target, leads_out=not inside))
            elif entry.is_file:
                self._read(entry)
            elif not entry.is_directory:
                self.skip(entry.path, "is not a regular file")
        except OSError as error:
            self.fail(entry.parts, error)

    def _read(self, entry: Entry) -> None:
        size = entry.status.st_size
        limit = min(MAX_SCANNED_BYTES, self.remaining_bytes)
        if limit <= 0 and size:
            self.skip(entry.path, f"more than {MAX_TOTAL_BYTES} bytes were read before it")
            return
        data = entry.read(limit)
        self.remaining_bytes -= len(data)
        if len(data) < size:
            self.skip(entry.path, f"only its first {len(data)} bytes were read")
        executable = bool(entry.status.st_mode & 0o111)
        self.members.append(ScannedFile(name=entry.path, data=data, size=size, is_executable=executable))


_PROGRAMS = (
    b"\x7fELF",
    b"MZ",
    b"\xcf\xfa\xed\xfe",
    b"\xce\xfa\xed\xfe",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xca\xfe\xba\xbe",
    b"dex\n",
)
_PROGRAM_SUFFIXES = frozenset(
    {
        ".exe",
        ".dll",
        ".so",
        ".dylib",
        ".bin",
        ".node",
        ".class",
        ".jar",
        ".wasm",
        ".o",
        ".a",
        ".elf",
        ".pyd",
        ".com",
        ".msi",
        "",
    }
)
_IMAGES = {b"\x89PNG": b"IEND\xaeB`\x82", b"\xff\xd8\xff": b"\xff\xd9", b"GIF8": b"\x00;"}
_PAYLOAD = re.compile(rb"PK\x03\x04|<\?php|#!/|<script|\x7fELF|\bimport os\b|\beval\(|powershell|/bin/(?:ba)?sh", re.I)
_SENSITIVE_TARGET = re.compile(r"\.ssh|\.aws|/etc/(?:passwd|shadow)|\.env\b|\.config|\.claude|\.gnupg|keychain", re.I)


class FileIssue(msgspec.Struct, frozen=True):
    """An issue that concerns a whole file."""

    code: str
    severity: FindingSeverity
    file: str
    shown: str


def find_file_issues(collected: Collected) -> Iterator[FileIssue]:
    """Yield the issues that concern whole files."""
    names = {member.name for member in collected.members}
    for member in collected.members:
        yield from _file_issues(member, names)
    for link in collected.links:
        if link.leads_out:
            severity = "high" if _SENSITIVE_TARGET.search(link.target) else "medium"
            yield FileIssue("F006", severity, link.name, f"leads to {link.target}")


def _file_issues(member: ScannedFile, names: set[str]) -> Iterator[FileIssue]:
    path = PurePosixPath(member.name)
    suffix = path.suffix.lower()
    if suffix in (".pyc", ".pyo"):
        yield from _bytecode_issues(member, path, names)
    elif member.data.startswith(_PROGRAMS) and _is_program(member.data):
        if suffix in _PROGRAM_SUFFIXES:
            yield FileIssue("F002", "medium", member.name, f"{member.size} bytes of machine code")
        else:
            yield FileIssue("F003", "critical", member.name, f"machine code in a file named {path.name}")
    elif member.data.startswith(b"PK\x03\x04"):
        yield from _archive_issues(member)
    else:
        yield from _image_issues(member)
    if path.name.startswith(".") and (
        suffix in (".sh", ".py", ".js", ".ps1") or (member.is_executable and member.data.startswith(b"#!"))
    ):
        yield FileIssue("F007", "low", member.name, path.name)


def _is_program(data: bytes) -> bool:
    # Text can start with `MZ` too; a program has another header at the offset in its first one.
    if not data.startswith(b"MZ"):
        return len(data) > 32
    offset = int.from_bytes(data[60:64], "little")
    return data[offset : offset + 4] == b"PE\0\0"


def _bytecode_issues(member: ScannedFile, path: PurePosixPath, names: set[str]) -> Iterator[FileIssue]:
    stem = path.name.split(".")[0]
    folder = path.parent.parent if path.parent.name == "__pycache__" else path.parent
    source = (folder / f"{stem}.py").as_posix()
    if source not in names:
        yield FileIssue("F001", "high", member.name, f"there is no {stem}.py beside it")
    elif path.parent.name != "__pycache__":
        yield FileIssue("F001", "medium", member.name, "it is run in the place of its source")


def _archive_issues(member: ScannedFile) -> Iterator[FileIssue]:
    offset = 0
    for _ in range(2_000):
        offset = member.data.find(b"PK\x03\x04", offset)
        if offset < 0 or offset + 30 > len(member.data):
            return
        flags = int.from_bytes(member.data[offset + 6 : offset + 8], "little")
        if flags & 1:
            yield FileIssue("F004", "high", member.name, "its entries are encrypted")
            return
        offset += 30


def _image_issues(member: ScannedFile) -> Iterator[FileIssue]:
    for head, tail in _IMAGES.items():
        if not member.data.startswith(head) or member.size != len(member.data):
            continue
        end = member.data.rfind(tail) if head != b"\x89PNG" else member.data.find(tail)
        trailing = member.data[end + len(tail) :] if end >= 0 else b""
        if len(trailing) > 8 and _PAYLOAD.search(trailing[:200_000]):
            yield FileIssue("F005", "medium", member.name, f"{len(trailing)} bytes of something else follow the image")
