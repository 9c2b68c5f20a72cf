"""Scan a workspace for what to protect, without following links.

What programs outside the sandbox obey must not be written, and what holds secrets must not be read. A directory
that has not changed since the last scan is not read again, so a scan of a large tree stays cheap. Knows nothing
about how a sandbox protects the result; `quarantine` handles what appears while a command runs.
"""

import errno
import os
import pwd
import re
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import msgspec

from skills_runtime.errors import SandboxError
from skills_runtime.protected_names import (
    AUTOLOADED_NAMES,
    CREDENTIAL_NAMES,
    ENV_FILE_PREFIX,
    GIT_CONTROL_PATHS,
    HOME_SECRET_PATHS,
    LOGIN_PATHS,
    REPOSITORY,
    RUN_CONFIG_FILES,
    SECRET_TEMPLATES,
    STARTUP_FILES,
    is_autoloaded_name,
    is_key_file,
)
from skills_runtime.sandbox.policy import Gap, Promise, SandboxPolicy
from skills_runtime.storage import open_regular, read_at_most

RUNTIME_DIRECTORY = ".skills_runtime_sdk"
"""Logs, keys, sockets and approvals of the runtime: neither read nor written."""

READ_ONLY = frozenset((REPOSITORY, *AUTOLOADED_NAMES, *STARTUP_FILES))

# Third-party code: only repositories and `.env` files matter in it.
SKIPPED = frozenset({"node_modules", ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache", ".cache"})

# A directory that changed this shortly before it was read may change again within the same clock tick.
UNSETTLED_NS = 20_000_000
MAX_LENGTH = 3800
"""Bytes of a path: deeper paths can be neither scanned nor covered."""
MAX_DIRECTORIES = 100_000
MAX_SECONDS = 10.0
"""Seconds of one scan; what has been read is cached, so the next scan gets further."""
# Directories that are hidden as a whole because they hold too much to scan, or too many runs.
MAX_CONCEALED = 50
MAX_CONFIG_BYTES = 1 << 20
MAX_KEY_BYTES = 1 << 20
"""Bytes of a file searched for a private key."""
MAX_INCLUDES = 5

_MAX_CACHED = 250_000
_NOTABLE_NAMES = READ_ONLY | CREDENTIAL_NAMES | {RUNTIME_DIRECTORY}
_SPECIAL = _NOTABLE_NAMES | SKIPPED
_BARE = {"HEAD", "objects", "refs"}
# A repository whose objects and configuration lie where `commondir` says.
_BARE_ELSEWHERE = {"HEAD", "commondir"}
_REPOSITORY_NAMES = {
    *("HEAD", "objects", "refs", "logs", "index", "description", "branches", "packed-refs", "shallow", "info", "hooks"),
    *("config", "config.worktree", "commondir", "gitdir", "modules", "worktrees", "FETCH_HEAD", "ORIG_HEAD"),
}
_RUN = {"events.jsonl", "run.json", "run.lock", "sandbox-manifest.json"}
_NONE: frozenset[str] = frozenset()
_CLOCK_EVERY = 512
"""Directories between two checks of the clock."""


class Directory(msgspec.Struct, frozen=True, gc=False):
    """What is notable in a directory."""

    changed_ns: int
    inode: int
    plain: tuple[str, ...] = ()
    """Paths of subdirectories with ordinary names."""
    special: tuple[str, ...] = ()
    """Paths of subdirectories with notable names."""
    names: frozenset[str] = _NONE
    """Notable names of files, directories and links."""
    links: frozenset[str] = _NONE
    directories: frozenset[str] = _NONE
    bare: bool = False
    """Git would take the directory itself for a bare repository."""
    mixed: bool = False
    """It holds more than a repository does."""
    is_run: bool = False
    """It holds the log and the record of a run."""
    quiet: bool = False
    """It holds nothing notable except ordinary subdirectories."""


class Inaccessible(msgspec.Struct, frozen=True):
    """A directory this user cannot read."""

    too_deep: bool = False


_INACCESSIBLE = Inaccessible()
_TOO_DEEP = Inaccessible(too_deep=True)
_cache: dict[str, Directory] = {}


def read_directory(path: str) -> Directory | Inaccessible | None:
    """Return what is notable in it now; None if it is not a directory or is gone."""
    if len(path) > MAX_LENGTH:
        return _TOO_DEEP
    try:
        # Strings, not `Path` objects, which would cost more than the scan itself for many thousands of directories.
        info = os.lstat(path)
        directory = _cache.get(path)
        if directory is not None and directory.changed_ns == info.st_ctime_ns and directory.inode == info.st_ino:
            return directory
        return _read(path, info)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return _TOO_DEEP
        return _INACCESSIBLE if error.errno in (errno.EACCES, errno.EPERM) else None


def _read(path: str, info: os.stat_result) -> Directory | Inaccessible | None:
    if not stat.S_ISDIR(info.st_mode):
        return None
    now = time.clock_gettime_ns(time.CLOCK_REALTIME)
    with os.scandir(path) as entries:
        directory = _summarize(path, info, list(entries))
    if not os.access(path, os.X_OK):
        return _INACCESSIBLE
    if len(_cache) >= _MAX_CACHED:
        _cache.clear()
    if info.st_ctime_ns + UNSETTLED_NS < now:
        _cache[path] = directory
    return directory


def _is_notable(name: str) -> bool:
    if name.startswith("."):
        return name in _NOTABLE_NAMES or name.startswith(ENV_FILE_PREFIX) or is_key_file(name)
    return is_key_file(name) or is_autoloaded_name(name)


def _summarize(path: str, info: os.stat_result, entries: "list[os.DirEntry[str]]") -> Directory:
    inside = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    notable = [entry for entry in entries if _is_notable(entry.name)]
    names = {entry.name for entry in entries}
    bare, is_run = names >= _BARE or names >= _BARE_ELSEWHERE, names >= _RUN
    special = tuple(f"{path}/{entry.name}" for entry in inside if entry.name in _SPECIAL)
    return Directory(
        changed_ns=info.st_ctime_ns,
        inode=info.st_ino,
        plain=tuple(f"{path}/{entry.name}" for entry in inside if entry.name not in _SPECIAL),
        special=special,
        names=frozenset(entry.name for entry in notable) if notable else _NONE,
        links=frozenset(entry.name for entry in notable if entry.is_symlink()) if notable else _NONE,
        directories=frozenset(entry.name for entry in notable if entry.is_dir(follow_symlinks=False))
        if notable
        else _NONE,
        bare=bare,
        mixed=bare and not names <= _REPOSITORY_NAMES,
        is_run=is_run,
        quiet=not (bare or is_run or special or notable),
    )


Identity = tuple[int, int]
"""Device and inode number."""


def find_hard_links(secrets: Iterable[Path], paths: Iterable[Path], directories: Iterable[str]) -> set[Path]:
    """Return other hard links to these secrets in these directories; cheap when there are none."""
    names: dict[Identity, int] = {}
    for path in paths:
        if (identity := _identity(str(path))) is not None:
            names[identity[0]] = names.get(identity[0], 0) + 1
    identities = (_identity(str(path)) for path in secrets)
    linked = {
        candidate[0] for candidate in identities if candidate is not None and candidate[1] > names.get(candidate[0], 0)
    }
    numbers = {number for _, number in linked}
    alike: list[str] = []
    for directory in directories if linked else ():
        # It may be gone, or hidden as a whole.
        with suppress(OSError), os.scandir(directory) as entries:
            alike += [entry.path for entry in entries if entry.inode() in numbers]
    return {Path(path) for path in alike if (identity := _identity(path)) is not None and identity[0] in linked}


def _identity(path: str) -> tuple[Identity, int] | None:
    """Return device and inode, and the number of hard links."""
    try:
        info = Path(path).lstat()
    except OSError:
        return None
    return (info.st_dev, info.st_ino), info.st_nlink


_SECTION = re.compile(r"\s*\[\s*([\w.-]+)")
_SETTING = re.compile(r"(?:\s*\[[^\]]*\])?\s*([A-Za-z][\w-]*)\s*=\s*(.*)")
_PATH_KEYS = frozenset({"hookspath", "fsmonitor", "attributesfile"})
"""Settings whose whole value may be a path."""
# Git reads data from the addresses in these sections, and executes nothing of it.
_ADDRESSES = frozenset({"remote", "branch", "submodule", "url"})
_ARGUMENT = re.compile(r"[^\s'\";|&()<>=!`$]+")


def paths_in_git_config(config: Path, *, depth: int = MAX_INCLUDES) -> Iterator[str]:
    """Yield the paths that a git configuration names: hooks, included files, programs; they may not exist.

    Paths of included files are absolute, others may be relative to the work tree. A value that is a path is taken
    whole; of a command, every word that looks like a path.
    """
    section = ""
    for line in small_text(config).replace("\\\n", "").splitlines():
        if header := _SECTION.match(line):
            section = header[1].lower().partition(".")[0]
        setting = _SETTING.fullmatch(line)
        if setting is None or section in _ADDRESSES:
            continue
        key, value = setting[1].lower(), setting[2].replace('"', "").strip()
        if section.startswith("include") and key == "path":
            included = Path(os.path.normpath(config.parent / value))
            yield str(included)
            yield from paths_in_git_config(included, depth=depth - 1) if depth else ()
        elif key != "worktree":
            yield from [value] if key in _PATH_KEYS and value else ()
            # A slash at the end alone marks a branch prefix.
            yield from (argument for argument in _ARGUMENT.findall(value) if "/" in argument.rstrip("/"))


def small_text(path: Path) -> str:
    """Return the beginning of a text file; empty for a link or a missing file."""
    return (_read_start(path, MAX_CONFIG_BYTES) or b"").decode(errors="surrogateescape").replace("\0", "")


def _read_start(path: Path, limit: int) -> bytes | None:
    try:
        descriptor = open_regular(path)
    except OSError:
        return None
    try:
        return read_at_most(descriptor, limit)
    except OSError:
        return None
    finally:
        os.close(descriptor)


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What to protect in a workspace; every path is real and inside it."""

    read_only: tuple[Path, ...] = ()
    hidden_files: tuple[Path, ...] = ()
    hidden_directories: tuple[Path, ...] = ()
    """Includes unreadable directories, because their owner can make them readable again."""
    pinned: tuple[Path, ...] = ()
    """Directories that must not be moved, parents first, because something in them is protected."""
    obeyed: tuple[Path, ...] = ()
    """Everything outside programs obey, protected or not; new entries are moved aside after a command."""
    links: tuple[Path, ...] = ()
    """Obeyed names that are links: nothing can be mounted over them, so they are restored after a command."""
    concealed: tuple[Path, ...] = ()
    """The hidden directories that were not scanned, or hold too many runs."""
    too_deep: tuple[Path, ...] = ()
    """Paths too long to scan or to cover."""
    complete: bool = True
    """Everything was scanned, or is concealed."""


def scan(workspace: Path, protected: Iterable[Path] = ()) -> Findings:
    """Return what to protect now; `protected` are additional read-only paths."""
    workspace_scan = _Scan(workspace)
    workspace_scan.walk()
    workspace_scan.note_paths(protected)
    return workspace_scan.findings()


class _Scan:
    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._read_only: set[Path] = set()
        self._hidden_files: set[Path] = set()
        self._hidden_directories: set[Path] = set()
        self._obeyed: set[Path] = set()
        self._links: set[Path] = set()
        # Protected because of their path: they would not be found again if a parent directory were moved.
        self._by_path: set[Path] = set()
        self._concealed: set[Path] = set()
        self._too_deep: list[Path] = []
        self._complete = True
        self._own = [str(workspace)]
        """The user's own directories, scanned first."""
        self._read_only_queue: list[str] = []
        """Directories that are read-only as a whole, where only secrets matter."""
        self._foreign: list[str] = []
        """Third-party code, where only secrets and repositories matter."""

    @cached_property
    def _paths_in_global_git_config(self) -> tuple[str, ...]:
        """Return the paths that the user's global git configuration names."""
        try:
            home = Path(pwd.getpwuid(os.geteuid()).pw_dir)
        except KeyError:
            return ()
        configs = (Path("/etc/gitconfig"), home / ".config/git/config", home / ".gitconfig")
        return tuple(path for config in configs for path in paths_in_git_config(config))

    def walk(self) -> None:
        """Scan level by level, so that one large subtree cannot keep paths near the top from being seen."""
        count, end = 0, time.monotonic() + MAX_SECONDS
        queues = (self._own, self._foreign, self._read_only_queue)
        # A queue may add to those after it.
        for queue in queues:
            for path in queue:  # grows during the loop
                count += 1
                if count > MAX_DIRECTORIES or (count % _CLOCK_EVERY == 0 and time.monotonic() > end):
                    self._conceal(map(Path, [*queue[queue.index(path) :], *self._paths_in_later_queues(queue)]))
                    return
                directory = read_directory(path)
                if isinstance(directory, Directory):
                    if directory.quiet and count > 1:
                        queue += directory.plain
                    else:
                        self._visit(path, directory, queue)
                elif directory is not None:
                    self._note_inaccessible(Path(path), directory)
        if self._hidden_files:
            own = {path for path in self._hidden_files if not self._is_foreign(path)}
            self._hidden_files |= find_hard_links(
                own, self._hidden_files, (*self._own, *self._foreign, *self._read_only_queue)
            )

    def _paths_in_later_queues(self, queue: list[str]) -> list[str]:
        queues = (self._own, self._foreign, self._read_only_queue)
        position = next(index for index, candidate in enumerate(queues) if candidate is queue)
        return [path for later in queues[position + 1 :] for path in later]

    def _conceal(self, unseen: Iterable[Path]) -> None:
        """Hide what was not scanned, in as few directories as possible, unless only the workspace itself holds it."""
        concealed = few_directories(set(unseen), MAX_CONCEALED)
        if self._workspace in concealed:
            self._complete = False
        else:
            self._concealed |= concealed
            self._hidden_directories |= concealed

    def note_paths(self, paths: Iterable[Path]) -> None:
        """Protect these too if they exist in the workspace."""
        for path in paths:
            if self._workspace in path.parents and os.path.lexists(path):
                self._protect(path)
                self._by_path.add(path)

    def findings(self) -> Findings:
        """Return all findings, in a deterministic order."""
        self._join_runs()
        # A mount that hides them makes them read-only too.
        self._read_only -= self._hidden_files
        hidden = self._hidden_directories
        for paths in (self._read_only, self._hidden_files, self._hidden_directories):
            paths -= {path for path in paths if not hidden.isdisjoint(self._between(path))}
        return Findings(
            read_only=tuple(sorted(self._read_only)),
            hidden_files=tuple(sorted(self._hidden_files)),
            hidden_directories=tuple(sorted(self._hidden_directories)),
            pinned=self._find_pinned(),
            obeyed=tuple(sorted(self._obeyed)),
            links=tuple(sorted(self._links)),
            concealed=tuple(sorted(self._concealed)),
            too_deep=tuple(self._too_deep[:1]),
            complete=self._complete,
        )

    def _join_runs(self) -> None:
        """Hide the parent directory where it holds more hidden directories than can be mounted one by one."""
        by_parent: dict[Path, int] = {}
        for path in self._hidden_directories:
            by_parent[path.parent] = by_parent.get(path.parent, 0) + 1
        many = {path for path, count in by_parent.items() if count > MAX_CONCEALED and path != self._workspace}
        self._hidden_directories |= many
        self._concealed |= many

    def _find_pinned(self) -> tuple[Path, ...]:
        """Return every directory between the workspace and a protected path, parents first."""
        paths: set[Path] = set()
        for path in (*self._read_only, *self._by_path):
            parents = self._between(path)
            # Nothing can be moved inside a read-only directory.
            if self._read_only.isdisjoint(parents):
                paths.update(parents)
        return tuple(sorted(paths, key=lambda path: (len(path.parts), path)))

    def _between(self, path: Path) -> list[Path]:
        """Return the parent directories of a path inside the workspace."""
        paths: list[Path] = []
        parent = path.parent
        while parent != self._workspace and parent != path:
            paths.append(parent)
            path, parent = parent, parent.parent
        return paths

    def _visit(self, path: str, directory: Directory, queue: list[str]) -> None:
        location, is_top = Path(path), path == self._own[0]
        if is_top:
            self._note_top(location, directory)
        elif directory.is_run:
            self._hidden_directories.add(location)
            return
        elif directory.bare and queue is not self._read_only_queue:
            self._note_repository(location, work_tree=location.parent)
            # Everything else in it is the user's work.
            self._obeyed.add(location / "HEAD" if directory.mixed else location)
            queue = self._read_only_queue
        self._note_names(location, directory, read_only=queue is self._read_only_queue)
        queue += directory.plain
        for inside in directory.special:
            self._descend(Path(inside), queue)

    def _descend(self, path: Path, queue: list[str]) -> None:
        if path in self._hidden_directories:
            return
        # Another command may have put secrets there.
        if path in self._read_only or path.name == REPOSITORY:
            queue = self._read_only_queue
        elif queue is self._own and path.name in SKIPPED:
            queue = self._foreign
        queue.append(str(path))

    def _note_inaccessible(self, path: Path, closed: Inaccessible) -> None:
        # Hidden only if its owner could make it readable; what this user cannot open is closed to commands too.
        if closed.too_deep:
            self._too_deep.append(path)
        elif path == self._workspace:
            self._complete = False
        elif os.access(path, os.X_OK) or _owner(path) in (None, os.geteuid()):
            self._hidden_directories.add(path)

    def _note_top(self, path: Path, directory: Directory) -> None:
        if is_home(path, directory):
            for name in HOME_SECRET_PATHS:
                self._hide(path / name)
            for name in (*LOGIN_PATHS, *STARTUP_FILES):
                self._note_path(path / name)
        for name in RUN_CONFIG_FILES:
            self._note_path(path / name)
        for run in find_linked_runs(path) if RUNTIME_DIRECTORY in directory.names else ():
            self._hide(run)
        if directory.bare:
            self._note_repository(path, work_tree=path)
            self._obeyed.add(path / "HEAD")

    def _note_path(self, path: Path) -> None:
        """Protect what is obeyed because of its path, and the target if it is a link."""
        if not os.path.lexists(path):
            return
        link = next((part for part in (*reversed(self._between(path)), path) if part.is_symlink()), None)
        if link is not None:
            self._links.add(link)
        self._obeyed.add(link or path)
        self._by_path.add(link or path)
        self._protect(path)

    def _note_repository(self, directory: Path, *, work_tree: Path) -> None:
        """Protect what git obeys in a repository directory; the rest stays writable."""
        for name in GIT_CONTROL_PATHS:
            self._note_path(directory / name)
        if directory != self._workspace:
            self._by_path.add(directory / "config")  # pins the directory itself
        configured = (*paths_in_git_config(directory / "config"), *paths_in_git_config(directory / "config.worktree"))
        for text in {*configured, *self._paths_in_global_git_config}:
            for base in (work_tree, directory):
                path = Path(os.path.normpath(base / text))
                if self._workspace in path.parents and not directory.is_relative_to(path):
                    self._note_path(path)
        for inner in _inner_repositories(directory):
            if inner.is_symlink():
                self._note_path(inner)
            else:
                self._note_repository(inner, work_tree=work_tree)

    def _protect(self, path: Path) -> None:
        """Make it read-only; of link targets only those in the workspace."""
        real = Path(os.path.realpath(path))
        if self._workspace in real.parents and real.exists():
            self._read_only.add(real)

    def _hide(self, path: Path) -> None:
        real = Path(os.path.realpath(path))
        if self._workspace in real.parents and real.exists():
            (self._hidden_directories if real.is_dir() else self._hidden_files).add(real)
            self._by_path.add(real)

    def _note_names(self, path: Path, directory: Directory, *, read_only: bool) -> None:
        is_top = path == self._workspace
        for name in directory.names:
            self._note_name(path / name, directory, is_top=is_top, read_only=read_only)

    def _note_name(self, path: Path, directory: Directory, *, is_top: bool, read_only: bool) -> None:
        name, is_directory, is_link = path.name, path.name in directory.directories, path.name in directory.links
        is_own = not (read_only or self._is_foreign(path))
        if name == RUNTIME_DIRECTORY or name.startswith(ENV_FILE_PREFIX) or (is_top and name in CREDENTIAL_NAMES):
            self._note_secret(path, is_directory=is_directory, is_link=is_link, is_own=is_own)
        elif name == REPOSITORY:
            if not read_only:
                self._note_git(path, is_directory=is_directory, is_link=is_link)
        elif is_autoloaded_name(name) or name in STARTUP_FILES:
            if is_own:
                self._note_obeyed(path, is_link=is_link)
        elif is_own and not (is_directory or is_link) and _holds_key(path):
            self._hidden_files.add(path)
            self._by_path.add(path)  # it is not searched for in third-party code

    def _note_secret(self, path: Path, *, is_directory: bool, is_link: bool, is_own: bool) -> None:
        variables = path.name.startswith(ENV_FILE_PREFIX)
        # Virtual environments are often called `.env`.
        if path.name in SECRET_TEMPLATES or (variables and is_directory):
            return
        if is_link:
            self._note_secret_link(path)
        else:
            (self._hidden_directories if is_directory else self._hidden_files).add(path)
        if is_own and path.name not in CREDENTIAL_NAMES:
            self._obeyed.add(path)
            if is_link:
                self._links.add(path)

    def _note_obeyed(self, path: Path, *, is_link: bool) -> None:
        if path.name not in STARTUP_FILES:
            self._obeyed.add(path)
        if is_link:
            self._links.add(path)
        self._protect(path)

    def _note_git(self, path: Path, *, is_directory: bool, is_link: bool) -> None:
        self._obeyed.add(path)
        if is_link:
            self._links.add(path)
            real = Path(os.path.realpath(path))
            if self._workspace in real.parents and real.is_dir():
                self._note_repository(real, work_tree=path.parent)
        elif is_directory:
            self._note_repository(path, work_tree=path.parent)
        else:
            self._read_only.add(path)

    def _note_secret_link(self, path: Path) -> None:
        target = Path(os.path.realpath(path))
        if self._workspace in target.parents and target.is_file():
            self._hidden_files.add(target)
            self._by_path.add(target)

    def _is_foreign(self, path: Path) -> bool:
        return not SKIPPED.isdisjoint(path.relative_to(self._workspace).parts)


def few_directories(paths: set[Path], most: int) -> set[Path]:
    """Return at most this many directories that hold all of these, replacing the deepest by their parents first."""
    directories = topmost(paths)
    while len(directories) > most:
        depth = max(len(path.parts) for path in directories)
        directories = topmost(path.parent if len(path.parts) == depth else path for path in directories)
    return directories


def topmost(paths: Iterable[Path]) -> set[Path]:
    """Return the directories that lie in none of the others."""
    every = frozenset(paths)
    return {path for path in every if every.isdisjoint(path.parents)}


def _inner_repositories(directory: Path) -> Iterator[Path]:
    """Yield the git directories of submodules and work trees inside a repository, and links to such."""
    pending = [directory / "modules", directory / "worktrees"]
    while pending:
        path = pending.pop()
        if path.is_symlink() or any(os.path.lexists(path / name) for name in ("HEAD", *GIT_CONTROL_PATHS)):
            yield path
            continue
        # The name of a submodule may contain slashes.
        with suppress(OSError), os.scandir(path) as entries:
            pending += [Path(entry.path) for entry in entries if entry.is_dir()]


def find_linked_runs(workspace: Path) -> list[Path]:
    """Return the real directories of this workspace's runs that are stored elsewhere."""
    try:
        with os.scandir(workspace / RUNTIME_DIRECTORY / "runs") as entries:
            return [Path(os.path.realpath(entry.path)) for entry in entries if entry.is_symlink()]
    except OSError:
        return []


def _holds_key(path: Path) -> bool:
    """Return whether a file named like a key holds a private one; certificates and public keys are public."""
    if path.suffix.lower() != ".pem":
        return True
    data = _read_start(path, MAX_KEY_BYTES)
    return data is None or b"PRIVATE" in data or b"-----BEGIN" not in data


def is_home(path: Path, listing: Directory | None = None) -> bool:
    """Return whether it is a user's home, or contains what only a home contains."""
    if listing is not None and not listing.names.isdisjoint(STARTUP_FILES - {".gitmodules", ".ripgreprc"}):
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


def scan_policy(policy: SandboxPolicy) -> Findings:
    """Return everything to protect now; raise `SandboxError` if an opened path now leads elsewhere."""
    findings = scan(policy.workspace, policy.protected)
    if not policy.opened:
        return findings
    if policy.access == "read":  # nothing can be written, so nothing needs to be pinned
        findings = _only_hidden(findings)
    every = (findings, *(_scan_opened(path, policy) for path in policy.opened))
    names = [name for name in Findings.__struct_fields__ if name != "complete"]
    joined = {name: tuple(dict.fromkeys(path for part in every for path in getattr(part, name))) for name in names}
    return Findings(**joined, complete=all(part.complete for part in every))


def _scan_opened(path: Path, policy: SandboxPolicy) -> Findings:
    if os.path.realpath(path) != str(path):
        raise SandboxError(
            f"`{path}` has become a link since it was granted", hint="ask for a new grant by its real path"
        )
    if not path.exists():
        raise SandboxError(f"`{path}` was granted to commands and is gone", hint="create it again, or drop the grant")
    findings = scan(path)
    return findings if path in policy.writable else _only_hidden(findings)


def _only_hidden(findings: Findings) -> Findings:
    return msgspec.structs.replace(findings, read_only=(), pinned=(), obeyed=(), links=())


def scan_gaps(policy: SandboxPolicy, findings: Findings) -> tuple[Gap, ...]:
    """Return the gaps that remain because the workspace holds too much to scan."""
    promises: tuple[Promise, ...] = ("secrets",)
    if policy.access == "write" or policy.opened:
        promises = ("protected_paths", "secrets")
    fix = "name a smaller directory as the workspace, or remove what is not needed"
    gaps: list[Gap] = []
    if not findings.complete:
        most = f"{MAX_DIRECTORIES:,} directories or {MAX_SECONDS:.0f} s are the most"
        text = f"the workspace was not scanned, for {most}"
        more = "; after a scan that took too long, try again, for what was seen is remembered"
        gaps += [Gap(promise=promise, text=text, fix=fix + more) for promise in promises]
    if findings.concealed:
        first = findings.concealed[0]
        text = f"{len(findings.concealed)} directories such as `{first}` hold too much to scan and are hidden"
        gaps.append(Gap(promise="secrets", text=text, fix=fix, partial=True))
    if findings.too_deep:
        text = f"`{str(findings.too_deep[0])[:200]}…` is too long a path to scan or to protect"
        gaps += [Gap(promise=promise, text=text, fix=fix, partial=True) for promise in promises]
    if findings.links and "protected_paths" in promises:
        text = f"`{findings.links[0]}` is a link, which is restored after a command that changes it"
        gaps.append(Gap(promise="protected_paths", text=text, partial=True))
    return tuple(gaps)
