"""Looks through a workspace for what must be protected in it, without ever following a link.

A directory that has not changed since the last look is not read again, so a survey costs little in a large tree too.
"""

import os
import pwd
import stat
import time
from pathlib import Path

import msgspec

from skills_runtime.sandbox.protected import (
    CONFIGURATION,
    CREDENTIALS,
    KEPT_FREE,
    KEPT_FREE_AT_HOME,
    READ_ONLY,
    REPOSITORY,
    RUNTIME_DIRECTORY,
    SECRETS,
    SKIPPED,
    START_UP,
)

MAX_DEPTH = 8
MAX_DIRECTORIES = 5000
MAX_NESTED = 16
"""Nested repositories in which names that do not exist yet are kept free."""
PLACEHOLDER_MODES = (stat.S_IFREG | 0o1444, stat.S_IFDIR | 0o1755)
"""The modes of what only keeps a name free, which nobody gives to anything of their own."""
UNSETTLED_NS = 20_000_000
"""A directory that changed so shortly before it was read may have changed again within the same tick of its clock."""

_START_UP = frozenset(START_UP)
_BARE = {"HEAD", "objects", "refs"}
_CLOSED = READ_ONLY | CREDENTIALS | {RUNTIME_DIRECTORY}
"""Protected or hidden as a whole, so that nothing in them is looked for."""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be protected in a workspace; every path is real and lies in it."""

    read_only: tuple[Path, ...] = ()
    hidden_files: tuple[Path, ...] = ()
    hidden_directories: tuple[Path, ...] = ()
    placeholders: tuple[Path, ...] = ()
    """What does not exist yet and must not come to be."""
    placeholder_directories: tuple[Path, ...] = ()
    """The same where others may need a directory meanwhile."""
    pinned: tuple[Path, ...] = ()
    """Directories that must keep their place, parents first, because something in them is protected."""
    links: tuple[Path, ...] = ()
    """Protected names that are links, which nothing can be fastened to."""
    complete: bool = True


class _Directory(msgspec.Struct, frozen=True):
    changed: int
    names: frozenset[str]
    """The notable ones, and those of subdirectories."""
    subdirectories: tuple[str, ...]
    links: frozenset[str]
    directories: frozenset[str]
    bare: bool


_seen: dict[str, _Directory] = {}
_MAX_SEEN = 50_000


def survey(workspace: Path) -> Findings:
    """What there is to protect now."""
    look = _Survey(workspace)
    look.walk()
    return look.findings()


class _Survey:
    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._read_only: list[Path] = []
        self._hidden_files: list[Path] = []
        self._hidden_directories: list[Path] = []
        self._placeholders: list[Path] = []
        self._placeholder_directories: list[Path] = []
        self._links: list[Path] = []
        self._nested = 0
        self._count = 0
        self._complete = True

    def walk(self) -> None:
        pending = [(self._workspace, 0)]
        while pending:
            path, depth = pending.pop()
            directory = _read(str(path))
            if directory is None:
                continue
            self._count += 1
            self._note(path, directory, top=depth == 0)
            if depth and directory.bare:
                self._read_only.append(path)
                continue
            if depth >= MAX_DEPTH or self._count >= MAX_DIRECTORIES:
                self._complete = self._complete and not directory.subdirectories
                continue
            pending += [(path / name, depth + 1) for name in directory.subdirectories if name not in _CLOSED]

    def findings(self) -> Findings:
        return Findings(
            read_only=tuple(sorted(self._read_only)),
            hidden_files=tuple(sorted(set(self._hidden_files))),
            hidden_directories=tuple(sorted(self._hidden_directories)),
            placeholders=tuple(sorted(self._placeholders)),
            placeholder_directories=tuple(self._placeholder_directories),
            pinned=self._pinned(),
            links=tuple(sorted(self._links)),
            complete=self._complete,
        )

    def _pinned(self) -> tuple[Path, ...]:
        """Every directory between the workspace and something that is fastened in it, parents first."""
        above: set[Path] = set()
        for path in (*self._read_only, *self._placeholders):
            parent = path.parent
            while parent != self._workspace and parent not in above:
                above.add(parent)
                parent = parent.parent
        return tuple(sorted(above, key=lambda path: len(path.parts)))

    def _note(self, path: Path, directory: _Directory, *, top: bool) -> None:
        for name in directory.names:
            self._note_name(path / name, directory, top=top)
        if not os.access(path, os.W_OK):
            return  # what this user cannot make the command cannot either
        if top:
            self._keep_free(path, directory, KEPT_FREE_AT_HOME if _is_home(path, directory) else KEPT_FREE)
            if RUNTIME_DIRECTORY not in directory.names:
                self._placeholder_directories.append(path / RUNTIME_DIRECTORY)
                self._hidden_directories.append(path / RUNTIME_DIRECTORY)
        elif REPOSITORY in directory.names:
            self._nested += 1
            if self._nested <= MAX_NESTED:
                self._keep_free(path, directory, CONFIGURATION)
            self._complete = self._complete and self._nested <= MAX_NESTED

    def _keep_free(self, path: Path, directory: _Directory, names: tuple[str, ...]) -> None:
        self._placeholders += [path / name for name in names if name not in directory.names]

    def _note_name(self, path: Path, directory: _Directory, *, top: bool) -> None:
        name, is_directory = path.name, path.name in directory.directories
        hidden = name == RUNTIME_DIRECTORY or (top and name in CREDENTIALS)
        if name in directory.links:
            self._note_link(path, secret=hidden or name.startswith(SECRETS), top=top)
        elif hidden:
            if is_directory and _is_placeholder(path):
                self._placeholder_directories.append(path)
            (self._hidden_directories if is_directory else self._hidden_files).append(path)
        elif name.startswith(SECRETS):
            if not is_directory:  # a directory of that name is where some people keep their Python
                self._hidden_files.append(path)
        elif name in READ_ONLY:
            (self._placeholders if _is_placeholder(path) else self._read_only).append(path)

    def _note_link(self, path: Path, *, secret: bool, top: bool) -> None:
        if not secret:
            if top or path.name == REPOSITORY:
                self._links.append(path)
            return
        target = Path(os.path.realpath(path))
        if self._workspace in target.parents and target.is_file():
            self._hidden_files.append(target)


def _is_home(path: Path, directory: _Directory) -> bool:
    """Whether somebody's shell starts here: it is their home, or holds what only a home does."""
    if not directory.names.isdisjoint(_START_UP):
        return True
    try:
        return path == Path(pwd.getpwuid(path.stat().st_uid).pw_dir)
    except (KeyError, OSError):
        return False


def _is_placeholder(path: Path) -> bool:
    """Whether another command, or one that was killed, has put it there to keep the name free."""
    try:
        return path.lstat().st_mode in PLACEHOLDER_MODES
    except OSError:
        return False


def _read(path: str) -> _Directory | None:
    """What is notable in a directory; nothing when it is gone or closed to this user, as it is to the command."""
    try:
        changed = Path(path).lstat().st_mtime_ns
        known = _seen.get(path)
        if known is not None and known.changed == changed:
            return known
        now = time.clock_gettime_ns(time.CLOCK_REALTIME)
        with os.scandir(path) as entries:
            directory = _summary(changed, list(entries))
    except OSError:
        return None
    if len(_seen) >= _MAX_SEEN:
        _seen.clear()
    if changed + UNSETTLED_NS < now:
        _seen[path] = directory
    return directory


def _summary(changed: int, entries: "list[os.DirEntry[str]]") -> _Directory:
    notable = {entry.name: entry for entry in entries if entry.name.startswith(".")}
    subdirectories = [entry.name for entry in entries if entry.name not in SKIPPED and _is_directory(entry)]
    return _Directory(
        changed=changed,
        names=frozenset(notable),
        subdirectories=tuple(sorted(subdirectories)),
        links=frozenset(name for name, entry in notable.items() if entry.is_symlink()),
        directories=frozenset(name for name, entry in notable.items() if _is_directory(entry)),
        bare=_BARE.issubset(entry.name for entry in entries),
    )


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    return entry.is_dir(follow_symlinks=False)
