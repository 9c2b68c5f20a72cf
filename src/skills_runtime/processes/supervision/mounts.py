"""Whether a fence stands where it was planned: a directory may have become a link since somebody looked at it.

Before the start nothing on the way may be a link, so that nothing is made elsewhere. When everything is mounted, and
before the command begins, the kernel tells what was really mounted, and where.
"""

import os
import stat
from collections.abc import Iterable, Sequence

Mount = tuple[bytes, bytes, bytes]
"""Where it is seen inside, what is seen there (nothing for an empty directory), and what it covers outside."""
Mounted = tuple[bytes, bytes, bytes]
"""A file system, the place in it, and what the kernel says besides."""

MEMORY = b"tmpfs"


class ChangedMeanwhile(Exception):
    """What was planned is not what is there."""


def check_places(mounts: "Iterable[Mount]") -> None:
    """See that everything which will be covered is there, and that no link leads to it."""
    seen = {b"", b"/"}
    for _, _, place in mounts:
        for path in _way(place, seen):
            try:
                mode = os.lstat(path).st_mode
            except OSError as error:
                raise ChangedMeanwhile from error
            if stat.S_ISLNK(mode):
                raise ChangedMeanwhile


def _way(path: bytes, seen: "set[bytes]") -> "list[bytes]":
    """The path and the directories above it that were not looked at yet, the highest first."""
    found: list[bytes] = []
    while path not in seen:
        seen.add(path)
        found.append(path)
        path = os.path.dirname(path)  # noqa: PTH120 - nothing more is imported here
    return found[::-1]


def check_mounts(process: int, mounts: "Sequence[Mount]") -> None:
    """See that the process has before its eyes what was planned; no process is left to look at when it has ended."""
    with open(f"/proc/{process}/mountinfo", "rb") as file:
        theirs = _by_point(file.read())
    with open("/proc/self/mountinfo", "rb") as file:
        ours = {point: found[-1] for point, found in _by_point(file.read()).items()}
    for point, sources in _wanted(mounts).items():
        found = theirs.get(point, [])[-len(sources) :]
        if len(found) != len(sources):
            raise ChangedMeanwhile
        for source, mounted in zip(sources, found, strict=True):
            if not _is(mounted, source, ours) and not (source and _same(process, point, source)):
                raise ChangedMeanwhile


def _wanted(mounts: "Iterable[Mount]") -> "dict[bytes, list[bytes]]":
    """What is mounted at each place, one over the other; what may be missing and is missing is left out."""
    wanted: dict[bytes, list[bytes]] = {}
    for point, source, place in mounts:
        if place or not source or os.path.lexists(source):
            wanted.setdefault(point, []).append(source)
    return wanted


def _by_point(table: bytes) -> "dict[bytes, list[Mounted]]":
    """The table of mounts as the kernel writes it, in the order in which they were made."""
    found: dict[bytes, list[Mounted]] = {}
    for line in table.splitlines():
        _, _, device, root, point, rest = line.split(b" ", 5)
        if b"\\" in line:
            root, point = _plain(root), _plain(point)
        found.setdefault(point, []).append((device, root, rest))
    return found


def _plain(text: bytes) -> bytes:
    for code, sign in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        text = text.replace(code, sign)
    return text


def _is(mounted: Mounted, source: bytes, ours: "dict[bytes, Mounted]") -> bool:
    if not source:
        return mounted[2].partition(b" - ")[2].startswith(MEMORY)
    above = source
    while above not in ours and above != b"/":
        above = os.path.dirname(above)  # noqa: PTH120 - nothing more is imported here
    device, root, _ = ours.get(above, (b"", b"", b""))
    below = source[len(above.rstrip(b"/")) :]
    return mounted[:2] == (device, root.rstrip(b"/") + below or b"/")


def _same(process: int, point: bytes, source: bytes) -> bool:
    """The same by its number: some file systems do not tell the place of a mount, and one mount may cover another."""
    try:
        descriptor = os.open(source, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            here = os.fstat(descriptor)
            straight = os.readlink(b"/proc/self/fd/%d" % descriptor) == source  # noqa: PTH115 - see above
        finally:
            os.close(descriptor)
        there = os.stat(b"/proc/%d/root%s" % (process, point), follow_symlinks=False)  # noqa: PTH116 - see above
    except OSError:
        return False
    return straight and os.path.samestat(here, there)
