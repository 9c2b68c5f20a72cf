"""Finds files that are not what they seem: compiled code, programs, locked archives, links that lead out."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

import msgspec

from skills_runtime.skills.scan.collect import Collected, Link, Member
from skills_runtime.skills.scan.report import Severity

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


class Shipped(msgspec.Struct, frozen=True):
    """Something about a file as a whole."""

    code: str
    severity: Severity
    file: str
    shown: str


def packaged(collected: Collected) -> Iterator[Shipped]:
    """Everything about the files as such."""
    names = {member.name for member in collected.members}
    for member in collected.members:
        yield from _member(member, names)
    for link in collected.links:
        if link.leads_out:
            yield _leading_out(link)


def _member(member: Member, names: set[str]) -> Iterator[Shipped]:
    path = PurePosixPath(member.name)
    suffix = path.suffix.lower()
    if suffix in (".pyc", ".pyo"):
        yield from _compiled(member, path, names)
    elif member.data.startswith(_PROGRAMS) and _is_program(member.data):
        if suffix in _PROGRAM_SUFFIXES:
            yield Shipped("F002", "medium", member.name, f"{member.size} bytes of machine code")
        else:
            yield Shipped("F003", "critical", member.name, f"machine code in a file named {path.name}")
    elif member.data.startswith(b"PK\x03\x04"):
        yield from _archive(member)
    else:
        yield from _image(member)
    if path.name.startswith(".") and (
        suffix in (".sh", ".py", ".js", ".ps1") or (member.is_executable and member.data.startswith(b"#!"))
    ):
        yield Shipped("F007", "low", member.name, path.name)


def _is_program(data: bytes) -> bool:
    """`MZ` also begins words; a program has a header further in."""
    if not data.startswith(b"MZ"):
        return len(data) > 32
    place = int.from_bytes(data[60:64], "little")
    return data[place : place + 4] == b"PE\0\0"


def _compiled(member: Member, path: PurePosixPath, names: set[str]) -> Iterator[Shipped]:
    stem = path.name.split(".")[0]
    folder = path.parent.parent if path.parent.name == "__pycache__" else path.parent
    source = (folder / f"{stem}.py").as_posix()
    if source not in names:
        yield Shipped("F001", "high", member.name, f"there is no {stem}.py beside it")
    elif path.parent.name != "__pycache__":
        yield Shipped("F001", "medium", member.name, "it is run in the place of its source")


def _archive(member: Member) -> Iterator[Shipped]:
    place = 0
    for _ in range(2_000):
        place = member.data.find(b"PK\x03\x04", place)
        if place < 0 or place + 30 > len(member.data):
            return
        flags = int.from_bytes(member.data[place + 6 : place + 8], "little")
        if flags & 1:
            yield Shipped("F004", "high", member.name, "its entries are encrypted")
            return
        place += 30


def _image(member: Member) -> Iterator[Shipped]:
    for head, tail in _IMAGES.items():
        if not member.data.startswith(head) or member.size != len(member.data):
            continue
        end = member.data.rfind(tail) if head != b"\x89PNG" else member.data.find(tail)
        rest = member.data[end + len(tail) :] if end >= 0 else b""
        if len(rest) > 8 and _PAYLOAD.search(rest[:200_000]):
            yield Shipped("F005", "medium", member.name, f"{len(rest)} bytes of something else follow the image")


def _leading_out(link: Link) -> Shipped:
    grave = bool(_SENSITIVE_TARGET.search(link.target))
    return Shipped("F006", "high" if grave else "medium", link.name, f"leads to {link.target}")
