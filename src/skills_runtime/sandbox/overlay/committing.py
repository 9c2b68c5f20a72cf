"""Puts what changed in a layer into the workspace: each path by one rename, so that a crash can be repeated.

A path may be as it was when the layer was laid, or already as the layer has it; anything else is a conflict.
"""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from skills_runtime.errors import SandboxError
from skills_runtime.sandbox.overlay.laying import copy_content
from skills_runtime.sandbox.overlay.trees import (
    DIRECTORY,
    FILE,
    STEP,
    accessible,
    digest_of,
    entry_at,
    names_in,
    opened,
    parent_of,
    remove_tree,
)
from skills_runtime.sandbox.overlay.values import Change, Entry, Layer

_WRITE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
SHOWN = 5


def conflicts(layer: Layer, changes: tuple[Change, ...]) -> tuple[str, ...]:
    """The paths that somebody else has changed meanwhile."""
    with opened(str(layer.workspace), DIRECTORY) as workspace:
        removed = {change.path for change in changes if change.after is None or not change.after.is_directory}
        found = [change.path for change in changes if entry_at(workspace, change.path) not in _expected(change)]
        found += _without_parent(workspace, changes)
        for change in changes:
            if change.before and change.before.is_directory and change.path in removed:
                found += _strangers(workspace, change.path, removed)
    return tuple(dict.fromkeys(found))


def apply(layer: Layer, changes: tuple[Change, ...], *, force: bool = False) -> None:
    """Make the changes; raises `SandboxError` before the first when there is a conflict, unless forced."""
    if not force and (found := conflicts(layer, changes)):
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise SandboxError(
            f"changed meanwhile in the workspace: {', '.join(found[:SHOWN])}{more}",
            hint="look at both; `--force` puts the layer's over them",
            details={"conflicts": list(found)},
        )
    with (
        opened(str(layer.workspace), DIRECTORY) as workspace,
        opened(str(layer.tree), DIRECTORY) as tree,
        _staging(layer) as staging,
    ):
        _Commit(workspace, tree, staging, force=force).apply(changes)


class _Commit:
    """One commit under way: what goes, deepest first; then what comes, parents first; modes of directories last."""

    def __init__(self, workspace: int, tree: int, staging: int, *, force: bool) -> None:
        self._workspace, self._tree, self._staging = workspace, tree, staging
        self._force = force
        self._opened: dict[str, int] = {}
        self._ready: set[str] = set()
        """Directories that need no look any more, until something is taken away."""

    def apply(self, changes: tuple[Change, ...]) -> None:
        try:
            for change in sorted(changes, key=lambda change: change.path.count("/"), reverse=True):
                if change.after is None or _swaps(change):
                    self._remove(change)
            self._ready.clear()
            for change in changes:
                if change.after is not None:
                    self._put(change.path, change.after)
            for change in reversed(changes):
                if change.after is not None and change.after.is_directory:
                    self._set_mode(change.path, change.after.mode)
                    self._opened.pop(change.path, None)
        finally:
            self._restore()

    def _remove(self, change: Change) -> None:
        with suppress(FileNotFoundError, NotADirectoryError), self._parent(change.path) as (directory, name):
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if change.after is not None and stat.S_ISDIR(found.st_mode) == change.after.is_directory:
                return  # an earlier try has come so far
            if not stat.S_ISDIR(found.st_mode):
                os.unlink(name, dir_fd=directory)
            elif self._force:
                remove_tree(directory, name)
            else:
                os.rmdir(name, dir_fd=directory)

    def _put(self, path: str, after: Entry) -> None:
        with self._parent(path, make=self._force) as (directory, name):
            if self._force:
                self._clear(directory, name, after)
            if after.is_directory:
                with suppress(FileExistsError):
                    os.mkdir(name, stat.S_IRWXU, dir_fd=directory)
                    self._own(path, directory, name)
                return
            self._stage(path, after)
            self._own(path, self._staging, "new")
            os.rename("new", name, src_dir_fd=self._staging, dst_dir_fd=directory)

    def _clear(self, directory: int, name: str, after: Entry) -> None:
        """Take away what nothing can be put over."""
        with suppress(FileNotFoundError):
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode) != after.is_directory:
                remove_tree(directory, name)

    def _stage(self, path: str, after: Entry) -> None:
        remove_tree(self._staging, "new")
        if after.kind == "link":
            os.symlink(after.content, "new", dir_fd=self._staging)
            return
        with parent_of(self._tree, path) as (directory, name):
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
            with accessible(directory, name, found), opened(name, FILE, directory) as source:
                target = os.open("new", _WRITE, 0o600, dir_fd=self._staging)
                try:
                    copy_content(source, target)
                    if digest_of(target) != after.content:
                        raise SandboxError(f"`{path}` changes in the layer while it is committed", hint="try again")
                    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))
                    os.fsync(target)
                finally:
                    os.close(target)
        os.chmod("new", after.mode, dir_fd=self._staging)

    def _own(self, path: str, directory: int, name: str) -> None:
        """What an administrator commits belongs to whom it belonged in the layer."""
        if os.geteuid() == 0:
            with parent_of(self._tree, path) as (where, last):
                found = os.stat(last, dir_fd=where, follow_symlinks=False)
            os.chown(name, found.st_uid, found.st_gid, dir_fd=directory, follow_symlinks=False)
            if stat.S_ISREG(found.st_mode):  # to change the owner takes some bits away
                os.chmod(name, stat.S_IMODE(found.st_mode), dir_fd=directory)

    @contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Generator[tuple[int, str]]:
        """The directory of a path in the workspace, opened to its owner for as long as the commit takes."""
        missing: list[str] = []
        place = path.rpartition("/")[0]
        while place and place not in self._ready:
            missing.append(place)
            place = place.rpartition("/")[0]
        for one in reversed(missing):
            self._open(one, make=make)
            self._ready.add(one)
        with parent_of(self._workspace, path) as found:
            yield found

    def _open(self, place: str, *, make: bool) -> None:
        with parent_of(self._workspace, place) as (directory, name):
            try:
                found = os.stat(name, dir_fd=directory, follow_symlinks=False)
            except FileNotFoundError:
                if make:
                    os.mkdir(name, stat.S_IRWXU, dir_fd=directory)
                return
            mode = stat.S_IMODE(found.st_mode)
            if not stat.S_ISDIR(found.st_mode):
                if make:
                    remove_tree(directory, name)
                    os.mkdir(name, stat.S_IRWXU, dir_fd=directory)
            elif mode & stat.S_IRWXU != stat.S_IRWXU and os.geteuid() != 0:
                os.chmod(name, mode | stat.S_IRWXU, dir_fd=directory)
                self._opened[place] = mode

    def _restore(self) -> None:
        for path, mode in reversed(self._opened.items()):
            with suppress(OSError):
                self._set_mode(path, mode)

    def _set_mode(self, path: str, mode: int) -> None:
        with parent_of(self._workspace, path) as (directory, name), opened(name, STEP, directory) as inner:
            Path(f"/proc/self/fd/{inner}").chmod(mode)


@contextmanager
def _staging(layer: Layer) -> Generator[int]:
    with opened(str(layer.home), DIRECTORY) as home:
        remove_tree(home, layer.staging.name)
        os.mkdir(layer.staging.name, stat.S_IRWXU, dir_fd=home)
        with opened(layer.staging.name, DIRECTORY, home) as staging:
            yield staging
        remove_tree(home, layer.staging.name)


def _swaps(change: Change) -> bool:
    """Whether a directory takes the place of something else, or the other way round."""
    if change.before is None or change.after is None:
        return False
    return change.before.is_directory != change.after.is_directory


def _expected(change: Change) -> tuple[Entry | None, ...]:
    """What may be in the workspace; a try that was cut short may have removed or made something already."""
    states: tuple[Entry | None, ...] = (change.before, change.after)
    if change.after is not None and change.after.is_directory:
        states = (*states, Entry("directory", stat.S_IRWXU))
    return (*states, None) if change.before is not None and _swaps(change) else states


def _without_parent(workspace: int, changes: tuple[Change, ...]) -> list[str]:
    """What would come into a directory that is there no more."""
    made = {change.path for change in changes if change.after is not None and change.after.is_directory}
    lost: list[str] = []
    for change in changes:
        parent = change.path.rpartition("/")[0]
        if change.after is not None and parent and parent not in made:
            entry = entry_at(workspace, parent)
            if entry is None or not entry.is_directory:
                lost.append(change.path)
    return lost


def _strangers(workspace: int, path: str, removed: set[str]) -> list[str]:
    """What lies in a directory that is to go, and does not go with it."""
    try:
        with parent_of(workspace, path) as (directory, name), opened(name, DIRECTORY, directory) as inner:
            return [f"{path}/{one}" for one in names_in(inner) if f"{path}/{one}" not in removed]
    except OSError:
        return []
