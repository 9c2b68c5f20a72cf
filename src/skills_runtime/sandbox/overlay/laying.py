"""Lays a layer over a workspace: a private copy, in which what is hidden from commands is not even there."""

import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from skills_runtime.errors import AccessRefused, SandboxError
from skills_runtime.sandbox.overlay.manifests import encoded
from skills_runtime.sandbox.overlay.mounting import can_mount, remembered
from skills_runtime.sandbox.overlay.trees import (
    DIRECTORY,
    FILE,
    digest_of,
    entry_of,
    only_keeps_a_name,
    opened,
    remove_tree,
    stamp_of,
    walk,
)
from skills_runtime.sandbox.overlay.values import Entry, Layer, Manifest, Stamp, layers_of
from skills_runtime.sandbox.protected import RUNTIME_DIRECTORY
from skills_runtime.sandbox.survey import UNSETTLED_NS, survey

MAX_ENTRIES = 300_000
MAX_BYTES = 16 << 30
PIECE = 1 << 30
CLONE = 0x40049409
"""Shares the blocks of a file with its copy, where the file system can."""
_WRITE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def lay(workspace: Path, *, hidden: Iterable[Path] = (), bubblewrap: str | None = None) -> Layer:
    """A new layer, which the kernel lays over the workspace if this bubblewrap can ask for that, else a copy.

    Raises when the workspace is too large for a copy, or holds what this user cannot read. `hidden` are directories in
    the workspace that commands do not see, besides those with a name that says so.
    """
    layer = Layer(name=secrets.token_hex(6), workspace=workspace)
    _make_home(layer)
    try:
        layer.work.mkdir(stat.S_IRWXU)
        if bubblewrap is not None and can_mount(bubblewrap, layer):
            layer = msgspec.structs.replace(layer, mode="mount")
            stamps = remembered(workspace)
            manifest = Manifest(mode="mount", workspace=str(workspace), base={}, stamps=stamps)
            layer.tree.chmod(stat.S_IMODE(workspace.stat().st_mode))
        else:
            manifest = _Copying(layer, hidden).copy()
        layer.manifest.write_bytes(encoded(manifest))
        _hand_over(layer)
    except BaseException:
        drop(layer)
        raise
    return layer


def drop(layer: Layer) -> None:
    """Remove a layer, and the directories for layers if that was the last."""
    with opened(str(layers_of(layer.workspace)), DIRECTORY) as descriptor:
        remove_tree(descriptor, layer.name)
    for path in (layers_of(layer.workspace), layers_of(layer.workspace).parent):
        try:
            path.rmdir()
        except OSError:  # it holds something else
            return


def _make_home(layer: Layer) -> None:
    """The directory of the layer, private until everything is in its place."""
    descriptor = os.open(str(layer.workspace), DIRECTORY)
    try:
        for name in (RUNTIME_DIRECTORY, layers_of(layer.workspace).name, layer.name, layer.tree.name):
            inner = _directory(descriptor, name, layer)
            os.close(descriptor)
            descriptor = inner
    finally:
        os.close(descriptor)


def _directory(parent: int, name: str, layer: Layer) -> int:
    shared = name not in (layer.name, layer.tree.name)
    try:
        os.mkdir(name, stat.S_IRWXU, dir_fd=parent)
        if shared and os.geteuid() == 0:
            owner = layer.workspace.stat()
            os.chown(name, owner.st_uid, owner.st_gid, dir_fd=parent, follow_symlinks=False)
    except FileExistsError:
        if not shared:
            raise
    try:
        return os.open(name, DIRECTORY, dir_fd=parent)
    except OSError as error:
        raise SandboxError(f"`{name}` is no directory, so no layer can be kept there", hint="remove it") from error


def _hand_over(layer: Layer) -> None:
    """Give the layer to the workspace's owner, as whom an administrator's commands run there."""
    if os.geteuid() == 0:
        owner = layer.workspace.stat()
        for path in (layer.tree, layer.manifest, layer.home):
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


class _Copying:
    """One copy under way."""

    def __init__(self, layer: Layer, hidden: Iterable[Path]) -> None:
        self._layer = layer
        found = survey(layer.workspace)
        outside = {*found.hidden_files, *found.hidden_directories, *hidden}
        self._hidden = {
            str(path.relative_to(layer.workspace)) for path in outside if path.is_relative_to(layer.workspace)
        }
        self._base: dict[str, Entry] = {}
        self._stamps: dict[str, Stamp] = {}
        self._left_out: list[str] = []
        self._modes: list[tuple[str, int]] = []
        self._bytes = 0

    def copy(self) -> Manifest:
        with opened(str(self._layer.tree), DIRECTORY) as self._tree:
            walk(str(self._layer.workspace), self._visit, ours=False)
            for path, mode in reversed(self._modes):  # last, so that nothing is in the way of the copy
                os.chmod(path, mode, dir_fd=self._tree)
            mode = stat.S_IMODE(self._layer.workspace.stat().st_mode)
            os.fchmod(self._tree, mode)
        settled = time.clock_gettime_ns(time.CLOCK_REALTIME) - UNSETTLED_NS
        return Manifest(
            workspace=str(self._layer.workspace),
            base=self._base,
            stamps={path: stamp for path, stamp in self._stamps.items() if stamp.changed < settled},
            left_out=tuple(self._left_out),
        )

    def _visit(self, directory: int, name: str, path: str, found: os.stat_result) -> bool:
        if path in self._hidden or path == RUNTIME_DIRECTORY:
            self._stub(path, found)
            return False
        if only_keeps_a_name(directory, name, found):  # of another command, which takes it away again
            return False
        try:
            self._copy(directory, name, path, found)
        except PermissionError as error:
            raise AccessRefused(
                f"`{path}` cannot be read, so the workspace cannot be copied for a layer",
                hint="change its mode, or work without a layer",
            ) from error
        self._check_size(found)
        return path in self._base

    def _check_size(self, found: os.stat_result) -> None:
        self._bytes += found.st_size if stat.S_ISREG(found.st_mode) else 0
        if len(self._base) > MAX_ENTRIES or self._bytes > MAX_BYTES:
            raise SandboxError(
                f"the workspace is too large for a layer: more than {MAX_ENTRIES:,} files or {MAX_BYTES >> 30} GiB",
                hint="use a smaller workspace, or work without a layer",
            )

    def _stub(self, path: str, found: os.stat_result) -> None:
        """An empty thing on which the fence can lay its cover."""
        self._left_out.append(path)
        if stat.S_ISDIR(found.st_mode):
            os.mkdir(path, 0o755, dir_fd=self._tree)
        elif stat.S_ISREG(found.st_mode):
            os.close(os.open(path, _WRITE, 0o600, dir_fd=self._tree))
        self._own(path, found)

    def _copy(self, directory: int, name: str, path: str, found: os.stat_result) -> None:
        if stat.S_ISDIR(found.st_mode):
            os.mkdir(path, 0o700, dir_fd=self._tree)
            self._modes.append((path, stat.S_IMODE(found.st_mode)))
            self._base[path] = entry_of(directory, name, found)
        elif stat.S_ISREG(found.st_mode):
            self._base[path] = self._copy_file(directory, name, path, found)
            return
        elif stat.S_ISLNK(found.st_mode):
            self._base[path] = entry_of(directory, name, found)
            os.symlink(self._base[path].content, path, dir_fd=self._tree)
        else:
            self._left_out.append(path)
            return
        self._own(path, found)

    def _copy_file(self, directory: int, name: str, path: str, found: os.stat_result) -> Entry:
        with opened(name, FILE, directory) as source:
            descriptor = os.open(path, _WRITE, 0o600, dir_fd=self._tree)
            try:
                copy_content(source, descriptor)
                if os.geteuid() == 0:
                    os.fchown(descriptor, found.st_uid, found.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(found.st_mode))
                os.utime(descriptor, ns=(found.st_atime_ns, found.st_mtime_ns))
                self._stamps[path] = stamp_of(os.fstat(descriptor))
                return entry_of(directory, name, os.fstat(descriptor), digest=digest_of(descriptor))
            finally:
                os.close(descriptor)

    def _own(self, path: str, found: os.stat_result) -> None:
        if os.geteuid() == 0:
            os.chown(path, found.st_uid, found.st_gid, dir_fd=self._tree, follow_symlinks=False)


def copy_content(source: int, target: int) -> None:
    """Fill an empty file with what another holds, sharing its blocks where that is possible."""
    try:
        fcntl.ioctl(target, CLONE, source)
    except OSError:
        done = 0
        while sent := os.sendfile(target, source, done, PIECE):
            done += sent
