"""Verify that mounts are where they were planned: a directory may have become a link since the scan.

Before the start no part of a path may be a link, so nothing is created elsewhere. After mounting and before the
command starts, the kernel's mount table shows what was mounted, and where.
"""

import os
import stat
from collections.abc import Iterable, Sequence

Mount = tuple[bytes, bytes, bytes]
"""Mount point, source (empty for an empty directory), and the outside path it covers."""
Origin = tuple[bytes, bytes]
"""A file system, and the path in it."""
Mounted = tuple[bytes, bytes, bytes]
"""A file system, the path in it, and the mount's other fields."""

MEMORY = b"tmpfs"


class MountsChanged(Exception):
    """The mounts differ from the plan."""


def check_mount_points(mounts: "Iterable[Mount]") -> None:
    """Check that every path to be covered exists and contains no link."""
    checked = {b"", b"/"}
    for _, _, path in mounts:
        parents: list[bytes] = []
        while path not in checked:
            checked.add(path)
            parents.append(path)
            path = os.path.dirname(path)  # noqa: PTH120 - nothing more is imported here
        for data in reversed(parents):  # parents first
            try:
                mode = os.lstat(data).st_mode
            except OSError as error:
                raise MountsChanged from error
            if stat.S_ISLNK(mode):
                raise MountsChanged


class PlannedMounts:
    """The expected mount table of a sandbox, resolved while it starts."""

    def __init__(self, mounts: "Sequence[Mount]") -> None:
        self._ours = {point: mounted[-1][:2] for point, mounted in _read_mount_table("/proc/self/mountinfo").items()}
        self._ours.setdefault(b"/", (b"", b""))
        self._planned: dict[bytes, list[Mount]] = {}
        for mount in mounts:
            self._planned.setdefault(mount[0], []).append(mount)

    def check(self, process: int) -> None:
        """Check the mount table of a process; raise `MountsChanged` for a difference."""
        theirs = _read_mount_table(f"/proc/{process}/mountinfo")
        for point, planned in self._planned.items():
            mounted = theirs.get(point, [])
            if len(mounted) < len(planned):
                planned = list(filter(_is_needed, planned))
            if len(mounted) < len(planned):
                raise MountsChanged
            for (_, source, _), mount in zip(reversed(planned), reversed(mounted), strict=False):
                if not _matches(mount, source, self._ours) and not (source and _is_same_file(process, point, source)):
                    raise MountsChanged


def _is_needed(mount: Mount) -> bool:
    """Return whether the mount must exist; one that covers nothing of a workspace may be left out."""
    _, source, data = mount
    return bool(data) or not source or os.path.lexists(source)


def _read_mount_table(path: str) -> "dict[bytes, list[Mounted]]":
    """Parse a mount table, in mount order."""
    with open(path, "rb", buffering=0) as file:
        table = file.readall()
    by_point: dict[bytes, list[Mounted]] = {}
    # Not `splitlines`: a name may contain other line separators.
    for line in table.split(b"\n")[:-1]:
        _, _, device, root, point, data = line.split(b" ", 5)
        if b"\\" in line:
            root, point = _unescape(root), _unescape(point)
        by_point.setdefault(point, []).append((device, root, data))
    return by_point


def _unescape(text: bytes) -> bytes:
    for code, sign in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        text = text.replace(code, sign)
    return text


def _matches(mounted: Mounted, source: bytes, ours: "dict[bytes, Origin]") -> bool:
    if source:
        return mounted[:2] == _origin(source, ours)
    return mounted[2].partition(b" - ")[2].startswith(MEMORY)


def _origin(path: bytes, origins: "dict[bytes, Origin]") -> "Origin":
    """Return file system and path of a file as a mount table shows them; cached."""
    if path not in origins:
        parent, _, name = path.rpartition(b"/")
        device, root = _origin(parent or b"/", origins)
        origins[path] = device, b"%s/%s" % (root.rstrip(b"/"), name)
    return origins[path]


def _is_same_file(process: int, point: bytes, source: bytes) -> bool:
    """Compare by inode: some file systems do not report the root of a mount, and one mount may cover another."""
    try:
        descriptor = os.open(source, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            info = os.fstat(descriptor)
            straight = os.readlink(b"/proc/self/fd/%d" % descriptor) == source  # noqa: PTH115 - see above
        finally:
            os.close(descriptor)
        inside = os.stat(b"/proc/%d/root%s" % (process, point), follow_symlinks=False)  # noqa: PTH116 - see above
    except OSError:
        return False
    return straight and os.path.samestat(info, inside)
