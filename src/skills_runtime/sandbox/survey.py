"""Looks through a workspace for what must be protected in it, without ever following a link.

Nothing is left out: a command could carry a secret to wherever nobody looks. A directory that has not changed since the
last look is not read again, so a survey costs little in a large tree too.
"""

import os
import pwd
import stat
import time
from pathlib import Path

import msgspec

from skills_runtime.sandbox.directories import UNSETTLED_NS, Closed, Directory, read_directory
from skills_runtime.sandbox.protected import (
    CONFIGURATION,
    CREDENTIALS,
    GIT_CONTROL,
    HOME_SECRETS,
    KEPT_FREE,
    KEPT_FREE_AT_HOME,
    READ_ONLY,
    REPOSITORY,
    RUNTIME_DIRECTORY,
    SECRETS,
    SKIPPED,
    START_UP,
)
from skills_runtime.sandbox.second_names import second_names

__all__ = ["MAX_DIRECTORIES", "MAX_SECONDS", "PLACEHOLDER_MODES", "UNSETTLED_NS", "Findings", "survey"]

MAX_DIRECTORIES = 100_000
MAX_SECONDS = 10.0
"""What has been read by then is remembered, so that the next survey gets further."""
MAX_NESTED = 16
"""Nested repositories in which names that do not exist yet are kept free."""
PLACEHOLDER_MODES = (stat.S_IFREG | 0o1444, stat.S_IFDIR | 0o1755)
"""The modes of what only keeps a name free, which nobody gives to anything of their own."""

_START_UP = frozenset(START_UP)
_CLOCK_EVERY = 512
"""Directories between two looks at the clock."""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be protected in a workspace; every path is real and lies in it."""

    read_only: tuple[Path, ...] = ()
    hidden_files: tuple[Path, ...] = ()
    hidden_directories: tuple[Path, ...] = ()
    """Also those that nobody can look into now, for whoever owns one can open it again."""
    placeholders: tuple[Path, ...] = ()
    """What does not exist yet and must not come to be."""
    placeholder_directories: tuple[Path, ...] = ()
    """The same where others may need a directory meanwhile."""
    pinned: tuple[Path, ...] = ()
    """Directories that must keep their place, parents first, because something in them is protected."""
    links: tuple[Path, ...] = ()
    """Protected names that are links, which nothing can be fastened to."""
    unseen: tuple[Path, ...] = ()
    """Where the survey ended before it was through."""
    complete: bool = True
    """Every directory was looked into."""
    kept_free: bool = True
    """What does not exist yet is kept free in every repository."""


def survey(workspace: Path) -> Findings:
    """What there is to protect now."""
    look = _Survey(workspace)
    look.walk()
    return look.findings()


class _Survey:
    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._read_only: set[Path] = set()
        self._hidden_files: set[Path] = set()
        self._hidden_directories: set[Path] = set()
        self._placeholders: set[Path] = set()
        self._placeholder_directories: set[Path] = set()
        self._held: set[Path] = set()
        self._links: set[Path] = set()
        self._by_place: set[Path] = set()
        """What is hidden because of where it is, and would not be found again if a directory above it were moved."""
        self._unseen: list[Path] = []
        self._nested = 0
        self._own = [str(workspace)]
        """What people work in; looked through first."""
        self._kept: list[str] = []
        """What is read-only as a whole, where only secrets matter."""
        self._foreign: list[str] = []
        """Others' code, where only secrets and repositories matter."""

    def walk(self) -> None:
        """Level by level, so that no heap of directories somewhere keeps what is near the top from being seen."""
        count, end = 0, time.monotonic() + MAX_SECONDS
        for queue in (self._own, self._foreign, self._kept):  # an earlier one fills those that follow
            for path in queue:  # which grows meanwhile
                count += 1
                if count > MAX_DIRECTORIES or (count % _CLOCK_EVERY == 0 and time.monotonic() > end):
                    self._unseen.append(Path(path))
                    return
                directory = read_directory(path)
                if isinstance(directory, Directory):
                    if directory.quiet and count > 1:
                        queue += directory.plain
                    else:
                        self._look(path, directory, queue)
                elif directory is not None:
                    self._close(Path(path), directory)
        if self._hidden_files:
            own = {path for path in self._hidden_files if not self._is_foreign(path)}
            self._hidden_files |= second_names(own, self._hidden_files, (*self._own, *self._foreign, *self._kept))

    def findings(self) -> Findings:
        """All of it, in an order that is always the same."""
        for paths in (self._read_only, self._hidden_files, self._hidden_directories, self._held):
            paths -= {path for path in paths if not self._hidden_directories.isdisjoint(self._between(path))}
        return Findings(
            read_only=tuple(sorted(self._read_only)),
            hidden_files=tuple(sorted(self._hidden_files)),
            hidden_directories=tuple(sorted(self._hidden_directories)),
            placeholders=tuple(sorted(self._placeholders)),
            placeholder_directories=tuple(sorted(self._placeholder_directories)),
            pinned=self._pinned(),
            links=tuple(sorted(self._links)),
            unseen=tuple(self._unseen[:1]),
            complete=not self._unseen,
            kept_free=self._nested <= MAX_NESTED,
        )

    def _pinned(self) -> tuple[Path, ...]:
        """Every directory between the workspace and something that is fastened in it, parents first."""
        above = set(self._held)
        for path in (*self._read_only, *self._placeholders, *self._by_place):
            parents = self._between(path)
            if self._read_only.isdisjoint(parents):  # nothing is moved in what is read-only
                above.update(parents)
        return tuple(sorted(above, key=lambda path: (len(path.parts), path)))

    def _between(self, path: Path) -> list[Path]:
        """The directories above something in the workspace, as far as they are in it too."""
        found: list[Path] = []
        above = path.parent
        while above != self._workspace and above != path:
            found.append(above)
            path, above = above, above.parent
        return found

    def _look(self, path: str, directory: Directory, queue: list[str]) -> None:
        if queue is self._own and path == self._own[0]:
            self._note_top(Path(path), directory)
        elif directory.bare and queue is not self._kept:
            self._read_only.add(Path(path))
            self._kept += directory.plain
            self._kept += directory.special
            self._note_names(Path(path), directory, kept=True)
            return
        elif directory.names:
            self._note_names(Path(path), directory, kept=queue is self._kept)
            if queue is self._own and REPOSITORY in directory.names:
                self._note_nested(Path(path), directory)
        queue += directory.plain
        for inside in directory.special:
            self._descend(Path(inside), queue)

    def _descend(self, path: Path, queue: list[str]) -> None:
        if path in self._hidden_directories or path == self._workspace / REPOSITORY:
            return  # no command could ever put anything into the workspace's own repository
        if path in self._read_only:
            queue = self._kept
        elif queue is self._own and path.name in SKIPPED:
            queue = self._foreign
        queue.append(str(path))

    def _close(self, path: Path, closed: Closed) -> None:
        """What its owner can open again is covered; what nobody here can is closed to the command too."""
        if closed.too_deep or path == self._workspace:
            self._unseen.append(path)
        elif os.access(path, os.X_OK) or _owner(path) in (None, os.geteuid()):
            self._hidden_directories.add(path)

    def _note_top(self, path: Path, directory: Directory) -> None:
        is_home = _is_home(path, directory)
        self._note_names(path, directory)
        if is_home:
            for name in HOME_SECRETS:
                self._hide(path / name)
        if not os.access(path, os.W_OK):
            return  # what this user cannot make the command cannot either
        self._keep_free(path, directory, KEPT_FREE_AT_HOME if is_home else KEPT_FREE)
        self._note_own_repository(path, directory)
        if RUNTIME_DIRECTORY not in directory.names:
            self._placeholder_directories.add(path / RUNTIME_DIRECTORY)
            self._hidden_directories.add(path / RUNTIME_DIRECTORY)

    def _note_nested(self, path: Path, directory: Directory) -> None:
        if os.access(path, os.W_OK):
            self._nested += 1
            if self._nested <= MAX_NESTED:
                self._keep_free(path, directory, CONFIGURATION)

    def _keep_free(self, path: Path, directory: Directory, names: tuple[str, ...]) -> None:
        missing = {path / name for name in names if name not in directory.names}
        # As an empty directory git takes no notice of it, neither in the sandbox nor outside.
        self._placeholder_directories |= {one for one in missing if one.name == REPOSITORY}
        self._placeholders |= {one for one in missing if one.name != REPOSITORY}

    def _note_own_repository(self, path: Path, directory: Directory) -> None:
        """The workspace itself must neither become a repository without a work tree nor be changed as one."""
        head, repository = path / "HEAD", path / REPOSITORY
        if directory.bare and not _is_placeholder(head):
            for name in GIT_CONTROL:
                self._hold(path / name)
        elif REPOSITORY not in directory.names or (repository.is_dir() and not os.path.lexists(repository / "HEAD")):
            if head.is_dir() and not head.is_symlink():
                self._held.add(head)
            else:
                self._hold(head)

    def _hold(self, path: Path) -> None:
        if path.is_symlink():
            self._links.add(path)
        elif not path.exists() or _is_placeholder(path):
            self._placeholders.add(path)
        else:
            self._read_only.add(path)

    def _hide(self, path: Path) -> None:
        real = Path(os.path.realpath(path))
        if self._workspace in real.parents and real.exists():
            (self._hidden_directories if real.is_dir() else self._hidden_files).add(real)
            self._by_place.add(real)

    def _note_names(self, path: Path, directory: Directory, *, kept: bool = False) -> None:
        top = path == self._workspace
        for name in directory.names:
            self._note_name(path / name, directory, top=top, kept=kept)

    def _note_name(self, path: Path, directory: Directory, *, top: bool, kept: bool) -> None:
        name, is_directory = path.name, path.name in directory.directories
        hidden = name == RUNTIME_DIRECTORY or (top and name in CREDENTIALS)
        if name in directory.links:
            self._note_link(path, secret=hidden or name.startswith(SECRETS), top=top)
        elif hidden:
            if top and is_directory and _is_placeholder(path):
                self._placeholder_directories.add(path)
            (self._hidden_directories if is_directory else self._hidden_files).add(path)
        elif name.startswith(SECRETS):
            if not is_directory:  # a directory of that name is where some people keep their Python
                self._hidden_files.add(path)
        elif name in READ_ONLY and not kept and (name == REPOSITORY or not self._is_foreign(path)):
            self._note_read_only(path, is_directory=is_directory)

    def _is_foreign(self, path: Path) -> bool:
        return not SKIPPED.isdisjoint(path.relative_to(self._workspace).parts)

    def _note_read_only(self, path: Path, *, is_directory: bool) -> None:
        if not _is_placeholder(path):
            self._read_only.add(path)
        elif not is_directory:
            self._placeholders.add(path)
        elif path == self._workspace / REPOSITORY and not any(path.iterdir()):
            self._placeholder_directories.add(path)
        else:
            self._read_only.add(path)

    def _note_link(self, path: Path, *, secret: bool, top: bool) -> None:
        if secret:
            target = Path(os.path.realpath(path))
            if self._workspace in target.parents and target.is_file():
                self._hidden_files.add(target)
                self._by_place.add(target)
        elif top or path.name == REPOSITORY:
            self._links.add(path)


def _is_home(path: Path, directory: Directory) -> bool:
    """Whether somebody's shell starts here: it is their home, or holds what only a home does."""
    if not directory.names.isdisjoint(_START_UP):
        return True
    try:
        return path == Path(pwd.getpwuid(path.stat().st_uid).pw_dir)
    except (KeyError, OSError):
        return False


def _owner(path: Path) -> int | None:
    try:
        return path.lstat().st_uid
    except OSError:
        return None


def _is_placeholder(path: Path) -> bool:
    """Whether another command, or one that was killed, has put it there to keep the name free."""
    try:
        return path.lstat().st_mode in PLACEHOLDER_MODES
    except OSError:
        return False
