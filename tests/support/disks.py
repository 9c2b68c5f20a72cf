"""Disks that fail: a file system that forgets what was not synced, and one of a few pages.

The strictest reading of POSIX: the bytes of a file survive once that file was synced, and a name survives once the
directory that holds it was synced. What was made safe, and only that, is written to a journal; losing power is killing
the process that serves the file system, and `restore` shows what a machine finds when it starts again.
"""

import errno
import os
import shutil
import stat
import struct
import subprocess
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import msgspec

from tests.support.children import Child, Zygote, zygote

ROOT_INODE = 1
_LENGTH = struct.Struct("!I")


class Entry(msgspec.Struct, frozen=True):
    """A name in a directory: its inode, type and mode, and the target of a link."""

    inode: int
    mode: int
    target: str = ""


class Synced(msgspec.Struct, frozen=True):
    """One thing that became durable: the bytes of a file or the names of a directory."""

    inode: int
    data: bytes | None = None
    names: dict[str, Entry] | None = None


@dataclass
class Node:
    """A file, a directory or a link as processes see it before the power failure."""

    inode: int
    mode: int
    target: str = ""
    data: bytearray = field(default_factory=bytearray)
    names: dict[str, "Node"] = field(default_factory=dict)


class Forgetful:
    """The operations of the file system; everything but the journal is in memory."""

    use_ns = True

    def __init__(self, journal: Path, mounted: IO[bytes]) -> None:
        self._journal = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._mounted = mounted
        self._nodes = {ROOT_INODE: Node(ROOT_INODE, stat.S_IFDIR | 0o755)}

    def init(self, path: str) -> None:
        self._mounted.write(b"mounted\n")

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        self._record(Synced(fh, data=bytes(self._nodes[fh].data)))
        return 0

    def fsyncdir(self, path: str, datasync: int, fh: int) -> int:
        names = {name: Entry(node.inode, node.mode, node.target) for name, node in self._nodes[fh].names.items()}
        self._record(Synced(fh, names=names))
        return 0

    def _record(self, synced: Synced) -> None:
        data = msgspec.msgpack.encode(synced)
        os.write(self._journal, _LENGTH.pack(len(data)) + data)

    def _find(self, path: str) -> Node:
        node = self._nodes[ROOT_INODE]
        for name in filter(None, path.split("/")):
            if name not in node.names:
                raise OSError(errno.ENOENT, path)
            node = node.names[name]
        return node

    def _parent(self, path: str) -> tuple[Node, str]:
        above, _, name = path.rpartition("/")
        return self._find(above), name

    def _make(self, path: str, mode: int, target: str = "") -> int:
        parent, name = self._parent(path)
        node = Node(max(self._nodes) + 1, mode, target)
        self._nodes[node.inode] = parent.names[name] = node
        return node.inode

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        node = self._nodes[fh] if fh else self._find(path)
        size = len(node.data) if stat.S_ISREG(node.mode) else len(node.target)
        times = dict.fromkeys(("st_atime", "st_mtime", "st_ctime"), 0)
        owner = {"st_uid": os.getuid(), "st_gid": os.getgid()}
        return {"st_mode": node.mode, "st_ino": node.inode, "st_nlink": 1, "st_size": size} | times | owner

    def create(self, path: str, mode: int, fi: object = None) -> int:
        return self._make(path, stat.S_IFREG | stat.S_IMODE(mode))

    def mkdir(self, path: str, mode: int) -> int:
        self._make(path, stat.S_IFDIR | stat.S_IMODE(mode))
        return 0

    def symlink(self, target: str, source: str) -> int:
        self._make(target, stat.S_IFLNK | 0o777, source)
        return 0

    def link(self, target: str, source: str) -> int:
        parent, name = self._parent(target)
        parent.names[name] = self._find(source)
        return 0

    def rename(self, old: str, new: str) -> int:
        (before, old_name), (after, new_name) = self._parent(old), self._parent(new)
        if after.names.get(new_name, Node(0, 0)).names:
            raise OSError(errno.ENOTEMPTY, new)
        after.names[new_name] = before.names.pop(old_name)
        return 0

    def unlink(self, path: str) -> int:
        parent, name = self._parent(path)
        del parent.names[name]
        return 0

    def rmdir(self, path: str) -> int:
        if self._find(path).names:
            raise OSError(errno.ENOTEMPTY, path)
        return self.unlink(path)

    def open(self, path: str, flags: int) -> int:
        return self._find(path).inode

    def opendir(self, path: str) -> int:
        return self._find(path).inode

    def readdir(self, path: str, fh: int) -> Iterable[str]:
        return [".", "..", *self._nodes[fh].names]

    def readlink(self, path: str) -> str:
        return self._find(path).target

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        return bytes(self._nodes[fh].data[offset : offset + size])

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        content = self._nodes[fh].data
        content.extend(bytes(max(0, offset - len(content))))
        content[offset : offset + len(data)] = data
        return len(data)

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        content = (self._nodes[fh] if fh else self._find(path)).data
        del content[length:]
        content.extend(bytes(length - len(content)))
        return 0

    def chmod(self, path: str, mode: int) -> int:
        node = self._find(path)
        node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(mode)
        return 0

    def chown(self, path: str, uid: int, gid: int) -> int:
        return 0

    def utimens(self, path: str, times: object = None) -> int:
        return 0


def serve(say: IO[bytes], hear: IO[bytes], mount: Path, journal: Path) -> None:
    """Serve the file system until the power fails."""
    import mfusepy  # only where a file system is served: without libfuse even the import fails

    mfusepy.FUSE(Forgetful(journal, say), str(mount), foreground=True, nothreads=True, attr_timeout=0, entry_timeout=0)


class Power:
    """A mounted disk that forgets unsynced data, and its power switch."""

    def __init__(self, mount: Path, journal: Path, server: Child) -> None:
        self.disk = mount
        self._journal = journal
        self._server = server

    def fail(self) -> None:
        """Cut the power now."""
        self._server.kill()

    def synced(self) -> int:
        """Return how many things have become durable so far."""
        return len(list(self._records()))

    def restore(self, target: Path, *, moment: int | None = None) -> Path:
        """Write what survives a power failure after that many syncs, or now, to an ordinary directory."""
        data: dict[int, bytes] = {}
        names: dict[int, dict[str, Entry]] = {}
        for synced in list(self._records())[:moment]:
            if synced.data is not None:
                data[synced.inode] = synced.data
            if synced.names is not None:
                names[synced.inode] = synced.names
        _restore(ROOT_INODE, target, data, names)
        return target

    def _records(self) -> Generator[Synced]:
        journal = self._journal.read_bytes()
        while len(journal) >= _LENGTH.size:
            size = _LENGTH.unpack_from(journal)[0]
            record, journal = journal[_LENGTH.size :][:size], journal[_LENGTH.size + size :]
            if len(record) == size:  # the last one may have been cut by the loss itself
                yield msgspec.msgpack.decode(record, type=Synced)


def _restore(inode: int, target: Path, data: dict[int, bytes], names: dict[int, dict[str, Entry]]) -> None:
    target.mkdir(mode=0o700)
    for name, entry in names.get(inode, {}).items():
        path = target / name
        if stat.S_ISDIR(entry.mode):
            _restore(entry.inode, path, data, names)
        elif stat.S_ISLNK(entry.mode):
            path.symlink_to(entry.target)
        else:
            path.write_bytes(data.get(entry.inode, b""))
            path.chmod(stat.S_IMODE(entry.mode))


def require_fuse() -> None:
    """Fail with what is missing if a process cannot serve a file system here."""
    for there, what in ((shutil.which("fusermount3"), "fusermount3"), (Path("/dev/fuse").exists(), "/dev/fuse")):
        assert there, f"the power-loss tests need `{what}`: install the system package fuse3 (apt-get install fuse3)"


@contextmanager
def power(nursery: Zygote, directory: Path) -> Generator[Power]:
    """Mount a disk that forgets unsynced data below `place`."""
    require_fuse()
    mount, journal = directory / "disk", directory / "journal"
    mount.mkdir(parents=True)
    journal.touch()
    with nursery.child(serve, mount, journal) as server:
        try:
            answer = server.line()
            assert answer == b"mounted", "FUSE does not work here: install the system package fuse3, allow /dev/fuse"
            yield Power(mount, journal, server)
        finally:
            server.kill()
            subprocess.run(["fusermount3", "-u", "-z", str(mount)], check=False)


PAGE = 4096


@contextmanager
def nursery_for_small_disks(*modules: str) -> Generator[Zygote]:
    """Fork children that may mount; fail with the reason where that is not permitted."""
    within = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--mount")
    tried = subprocess.run([*within, "true"], capture_output=True, text=True, check=False)
    assert tried.returncode == 0, f"the disk-full tests need mount namespaces (`{' '.join(within)}`): {tried.stderr}"
    with zygote(*modules, within=within) as nursery:
        yield nursery


class SmallDisk:
    """A mounted tmpfs, and a file on it that fills it up."""

    def __init__(self, path: Path, pages: int) -> None:
        self.path = path
        self._ballast = path / "ballast"
        path.mkdir(parents=True, exist_ok=True)
        size = f"size={pages * PAGE}"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(path)], check=True)

    @property
    def free_pages(self) -> int:
        """Return how many pages can still be written."""
        return os.statvfs(self.path).f_bavail * os.statvfs(self.path).f_frsize // PAGE

    def leave(self, pages: int) -> None:
        """Fill the disk until only this much is left, or free some of it."""
        self._ballast.unlink(missing_ok=True)
        self._ballast.write_bytes(b"x" * PAGE * (self.free_pages - pages))
        assert self.free_pages == pages

    def files(self) -> set[str]:
        """Return everything on the disk except the filler."""
        return {str(path.relative_to(self.path)) for path in self.path.rglob("*") if path != self._ballast}
