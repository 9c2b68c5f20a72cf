"""What has to be protected in a workspace: the names that matter, and a scan that finds them without following a link.

Names that programs outside the sandbox obey are not to be written, and names that hold secrets not to be read. Nothing
is left out: a command could carry a secret to wherever nobody looks. A directory that has not changed since the last
scan is not read again, so a scan costs little in a large tree too. Knows nothing of how a sandbox keeps what it finds.
"""

import errno
import os
import pwd
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.errors import SandboxError
from skills_runtime.sandbox.policy import Gap, Promise, SandboxPolicy

RUNTIME_DIRECTORY = ".skills_runtime_sdk"
"""Logs, keys, sockets and approvals of the runtime: neither read nor written."""

REPOSITORY = ".git"

CONFIGURATION = (
    ".agent", ".agents", ".claude", ".codex", ".cursor", ".gemini", ".vscode", ".idea", ".mcp.json",
)  # fmt: skip
"""What agents and editors obey when they open the directory."""

START_UP = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
    ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login",
    ".inputrc", ".gitconfig", ".gitmodules", ".ripgreprc",
)  # fmt: skip
"""What shells and everyday programs run or obey when they start."""

READ_ONLY = frozenset((REPOSITORY, *CONFIGURATION, *START_UP))

KEPT_FREE = (REPOSITORY, *CONFIGURATION)
"""What cannot be made either where it does not exist yet."""

KEPT_FREE_AT_HOME = (*KEPT_FREE, *START_UP)
"""The same in a home directory, the only place in which anything is a start-up file."""

SECRETS = ".env"
"""How the names of files begin that hold secrets, wherever in a workspace they lie."""

CREDENTIALS = frozenset(
    (".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pgpass", ".pypirc", ".git-credentials")
)
"""What a home directory holds; hidden at the top of a workspace only, where such a name is no coincidence."""

HOME_SECRETS = (
    ".npmrc", ".yarnrc.yml", ".password-store", ".vault-token", ".terraform.d", ".config/gcloud", ".config/gh",
    ".config/op", ".config/hub", ".config/skills_runtime", ".local/share/keyrings", ".local/state/skills_runtime",
    ".mozilla", ".config/google-chrome", ".config/chromium", ".cargo/credentials", ".cargo/credentials.toml",
    ".gem/credentials", ".m2/settings.xml", ".gradle/gradle.properties", ".terraformrc", ".boto", ".s3cfg",
    ".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history",
    ".sqlite_history", ".rediscli_history", ".lesshst", ".viminfo", ".htpasswd", ".my.cnf",
    ".config/rclone", ".config/sops", ".config/age", ".config/containers", ".config/glab-cli", ".config/doctl",
    ".config/microsoft-edge", ".config/BraveSoftware", ".config/Signal", ".config/Slack", ".config/discord",
    ".config/filezilla", ".local/share/password-store", ".local/share/kwalletd", ".thunderbird", ".electrum",
    ".bitcoin", ".ethereum", "Library/Keychains", "Library/Cookies", "Library/Application Support/Google",
    "Library/Application Support/Firefox",
)  # fmt: skip
"""What a home directory holds besides, and what would be a mere setting anywhere else."""

GIT_CONTROL = ("HEAD", "config", "config.worktree", "hooks", "commondir")
"""What git obeys in a repository without a work tree."""

SKIPPED = frozenset({"node_modules", ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache", ".cache"})
"""Directories of others' code: in them only repositories and secrets are looked for."""


UNSETTLED_NS = 20_000_000
"""A directory that changed so shortly before it was read may have changed again within the same tick of its clock."""
MAX_LENGTH = 3800
"""Of a path: what lies deeper can be neither looked at nor covered."""

_MAX_SEEN = 250_000
_NAMED = READ_ONLY | CREDENTIALS | {RUNTIME_DIRECTORY}
_SPECIAL = _NAMED | SKIPPED
_BARE = {"HEAD", "objects", "refs"}
_NONE: frozenset[str] = frozenset()


class Directory(msgspec.Struct, frozen=True, gc=False):
    """What is notable in a directory."""

    changed: int
    inode: int
    plain: tuple[str, ...] = ()
    """The paths of subdirectories whose names say nothing."""
    special: tuple[str, ...] = ()
    """The paths of those whose names do."""
    names: frozenset[str] = _NONE
    """Those that say something, of files, directories and links."""
    links: frozenset[str] = _NONE
    directories: frozenset[str] = _NONE
    bare: bool = False
    """Git would take the directory itself for a repository."""
    quiet: bool = False
    """Nothing is notable but that there are plain subdirectories."""


class Closed(msgspec.Struct, frozen=True):
    """A directory that this user cannot look into."""

    too_deep: bool = False


_CLOSED = Closed()
_TOO_DEEP = Closed(too_deep=True)
_seen: dict[str, Directory] = {}


def read_directory(path: str) -> Directory | Closed | None:
    """What is notable in it now; nothing when it is gone or is none."""
    if len(path) > MAX_LENGTH:
        return _TOO_DEEP
    try:
        # A path object for each of many thousands of directories would cost more than the look itself.
        found = os.lstat(path)
        known = _seen.get(path)
        if known is not None and known.changed == found.st_ctime_ns and known.inode == found.st_ino:
            return known
        return _read(path, found)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return _TOO_DEEP
        return _CLOSED if error.errno in (errno.EACCES, errno.EPERM) else None


def _read(path: str, found: os.stat_result) -> Directory | Closed | None:
    if not stat.S_ISDIR(found.st_mode):
        return None
    now = time.clock_gettime_ns(time.CLOCK_REALTIME)
    with os.scandir(path) as entries:
        directory = _summary(path, found, list(entries))
    if not os.access(path, os.X_OK):
        return _CLOSED
    if len(_seen) >= _MAX_SEEN:
        _seen.clear()
    if found.st_ctime_ns + UNSETTLED_NS < now:
        _seen[path] = directory
    return directory


def _summary(path: str, found: os.stat_result, entries: "list[os.DirEntry[str]]") -> Directory:
    inside = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    notable = [
        entry
        for entry in entries
        if entry.name.startswith(".") and (entry.name in _NAMED or entry.name.startswith(SECRETS))
    ]
    bare = _BARE.issubset({entry.name for entry in entries})
    special = tuple(f"{path}/{entry.name}" for entry in inside if entry.name in _SPECIAL)
    return Directory(
        changed=found.st_ctime_ns,
        inode=found.st_ino,
        plain=tuple(f"{path}/{entry.name}" for entry in inside if entry.name not in _SPECIAL),
        special=special,
        names=frozenset(entry.name for entry in notable) if notable else _NONE,
        links=frozenset(entry.name for entry in notable if entry.is_symlink()) if notable else _NONE,
        directories=frozenset(entry.name for entry in notable if entry.is_dir(follow_symlinks=False))
        if notable
        else _NONE,
        bare=bare,
        quiet=not (bare or special or notable),
    )


Identity = tuple[int, int]
"""The device and the number of a file."""


def second_names(secrets: Iterable[Path], known: Iterable[Path], directories: Iterable[str]) -> set[Path]:
    """Names of these secrets besides those that are known, in these directories; most have none, which costs little."""
    names: dict[Identity, int] = {}
    for path in known:
        if (identity := _identity(str(path))) is not None:
            names[identity[0]] = names.get(identity[0], 0) + 1
    found = (_identity(str(path)) for path in secrets)
    wanted = {one[0] for one in found if one is not None and one[1] > names.get(one[0], 0)}
    numbers = {number for _, number in wanted}
    alike: list[str] = []
    for directory in directories if wanted else ():
        with suppress(OSError), os.scandir(directory) as entries:  # it may be gone, or covered as a whole
            alike += [entry.path for entry in entries if entry.inode() in numbers]
    return {Path(path) for path in alike if (identity := _identity(path)) is not None and identity[0] in wanted}


def _identity(path: str) -> tuple[Identity, int] | None:
    """What the file is, and how many names it has."""
    try:
        found = Path(path).lstat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino), found.st_nlink


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


def findings_for(policy: SandboxPolicy) -> Findings:
    """Everything to protect now; raises `SandboxError` for an opened path that leads elsewhere than it did."""
    found = survey(policy.workspace)
    if not policy.opened:
        return found
    if policy.access == "read":  # nothing can be written there, so there is nothing to hold on to
        missing = found.placeholder_directories
        hidden = tuple(path for path in found.hidden_directories if path not in missing)
        found = Findings(hidden_files=found.hidden_files, hidden_directories=hidden, **_extent(found))
    every = (found, *(_of_opened(path, policy) for path in policy.opened))
    names = [name for name in Findings.__struct_fields__ if name not in ("complete", "kept_free")]
    joined = {name: tuple(dict.fromkeys(path for part in every for path in getattr(part, name))) for name in names}
    complete, kept_free = (all(getattr(part, name) for part in every) for name in ("complete", "kept_free"))
    return Findings(**joined, complete=complete, kept_free=kept_free)


def _of_opened(path: Path, policy: SandboxPolicy) -> Findings:
    if os.path.realpath(path) != str(path):
        raise SandboxError(
            f"`{path}` has become a link since it was opened to commands", hint="ask for a new grant by its real path"
        )
    if not path.exists():
        raise SandboxError(f"`{path}` was opened to commands and is gone", hint="make it again, or drop the grant")
    found = survey(path)
    if path in policy.writable:
        return found
    missing = found.placeholder_directories
    hidden = tuple(one for one in found.hidden_directories if one not in missing)
    return Findings(hidden_files=found.hidden_files, hidden_directories=hidden, **_extent(found))


def _extent(found: Findings) -> dict[str, Any]:
    """How far the survey got."""
    return {"unseen": found.unseen, "complete": found.complete}


def survey_gaps(policy: SandboxPolicy, findings: Findings) -> tuple[Gap, ...]:
    """What cannot be promised because the survey did not get through, or found too much to hold on to."""
    gaps: list[Gap] = []
    if not findings.complete:
        where = f" from `{findings.unseen[0]}` on" if findings.unseen else ""
        most = f"{MAX_DIRECTORIES:,} directories or {MAX_SECONDS:.0f} s are the most"
        text = f"the workspace was not looked through{where}, for {most}"
        fix = (
            "name a smaller directory as the workspace, or remove what nobody needs; after a first look that took too "
            "long, try again, for what was seen is remembered; `sandbox exec --accept-gap` does without the promise"
        )
        promises: tuple[Promise, ...] = ("secrets",)
        if policy.access == "write" or policy.opened:
            promises = ("protected_paths", "secrets")
        gaps += [Gap(promise=promise, text=text, fix=fix) for promise in promises]
    if not findings.kept_free:
        text = f"configuration of agents and editors can be made in more than {MAX_NESTED} repositories"
        gaps.append(Gap(promise="protected_paths", text=text, partial=True))
    return tuple(gaps)
