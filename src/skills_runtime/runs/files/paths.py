"""The path policy of a run's file tools: parsing paths and checking reads and writes.

Checks touch no file. They run twice: on the path as written, and on the location after following links. Errors of the
operating system are translated here too.
"""

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.errors import (
    AccessRefused,
    NotFound,
    PathEscape,
    PolicyDenied,
    SkillsRuntimeError,
    StorageFailed,
    ValidationFailed,
    WriteRefused,
)
from skills_runtime.protected_names import (
    ENV_FILE_PREFIX,
    GIT_CONTROL_PATHS,
    REPOSITORY,
    STARTUP_FILES,
    is_autoloaded_name,
    is_secret_file,
)
from skills_runtime.runs.layout import DIRECTORY_MODE, FILE_MODE, STATE_DIRECTORY, RunPaths, runs_root
from skills_runtime.text import escape_controls, fold_name

DeleteRule = Literal["disabled", "allow"]
HardLinkRule = Literal["refuse", "allow"]

DELIVERABLES = "deliverables"
RUNTIME_PATHS = (
    "blobs", "run.lock", "logs", "events.jsonl", "run.json", "config.yaml", "session.json", "sandbox-manifest.json",
    "artifact-manifest.json", "transcript.md", "archive", "executions",
)  # fmt: skip
"""Paths of a run directory that tools may not read: log, state and settings."""
RUN_FILES = ("events.jsonl", "run.json", "run.lock", "sandbox-manifest.json")
"""Files that every run directory has."""
SHARED_FILE_MODE = 0o644
SHARED_DIRECTORY_MODE = 0o755

MAX_NAME_BYTES = 255
MAX_RECORDED_CHARS = 4096
_MAX_SHOWN_CHARS = 200

PROTECTED_NAMES = frozenset({STATE_DIRECTORY, *STARTUP_FILES} - {".gitmodules", ".ripgreprc"})
"""Names that protect every path that contains one, in addition to auto-run files."""
_IN_GIT = frozenset({"attributes"} | {name for name in GIT_CONTROL_PATHS if "/" not in name})

_MEANING: dict[int, tuple[type[SkillsRuntimeError], str, str]] = {
    errno.ENOENT: (NotFound, "does not exist", "list the directory to see what is there"),
    errno.ENOTDIR: (NotFound, "goes through something that is not a directory", "list the directory above"),
    errno.EACCES: (AccessRefused, "may not be accessed by this user", "change its permissions or use another path"),
    errno.EPERM: (AccessRefused, "may not be changed by this user", "change its permissions or use another path"),
    errno.EROFS: (AccessRefused, "is on a read-only file system", "use another path"),
    errno.ETXTBSY: (AccessRefused, "is a program that is running", "wait until it ends"),
    errno.EXDEV: (PathEscape, "leads out of the workspace", "use a path whose links stay inside"),
    errno.ELOOP: (PathEscape, "leads through links that cannot be followed safely", "name the file itself"),
    errno.EAGAIN: (PathEscape, "kept changing while it was checked", "try again when nothing else changes it"),
    errno.ENAMETOOLONG: (ValidationFailed, "is too long for the file system", "shorten it"),
    errno.EISDIR: (ValidationFailed, "is a directory", "name a file"),
    errno.EEXIST: (ValidationFailed, "already exists", "choose another name"),
    errno.ENXIO: (ValidationFailed, "is not a regular file", "name a regular file"),
}


class PathPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The base of relative paths, the writable roots and the limits."""

    base: Path
    """The base of relative paths, without symbolic links."""
    write_roots: tuple[str, ...]
    """The writable paths below `base`; `.` is all of it."""
    trash: Path
    """Where deleted files go."""
    mounts: Mapping[str, Path] = {}
    """First components of relative paths that mean another real directory, which may be written."""
    aliases: Mapping[Path, Path] = {}
    """Other spellings of the directories above, for absolute paths, to their real ones."""
    private: tuple[str, ...] = ()
    """The paths below `base` that may not be read."""
    read_only: tuple[str, ...] = ()
    """The paths below `base` that may be read, but not written."""
    private_names: frozenset[str] = frozenset()
    """Names that make everything below them private, at any depth."""
    delete: DeleteRule = "disabled"
    hard_links: HardLinkRule = "refuse"
    """Whether a file with several hard links may be read."""
    max_path_bytes: int = 4096
    max_file_bytes: int = 104_857_600
    file_mode: int = FILE_MODE
    directory_mode: int = DIRECTORY_MODE

    def root(self, mount: str) -> Path:
        """Return the directory of a mount; the empty name is the base."""
        return self.mounts[mount] if mount else self.base


def isolated_policy(run_root: Path) -> PathPolicy:
    """Build the policy of an isolated run: the run directory, with `workspace/` and `deliverables/` writable."""
    real = _real(run_root)
    paths = RunPaths(real)
    return PathPolicy(
        base=real,
        write_roots=(paths.workspace.name, paths.deliverables.name),
        trash=paths.logs / "trash",
        aliases=_alias(run_root, real),
        private=(paths.blobs.name, paths.lock.name, paths.logs.name),
    )


def shared_policy(workspace_root: Path, run_root: Path, read_only: Iterable[Path] = ()) -> PathPolicy:
    """Build the policy of a shared workspace, where `deliverables/` is the run's and `read_only` is never written."""
    base, run = _real(workspace_root), _real(run_root)
    if run == base:
        raise ValidationFailed(
            f"the run directory `{run}` is the workspace itself, so its log could be written by tools",
            hint="put the run into a directory of its own",
        )
    paths, runs = RunPaths(run), (run, *_find_linked_runs(base))
    return PathPolicy(
        base=base,
        write_roots=(".",),
        trash=paths.logs / "trash",
        mounts={DELIVERABLES: paths.deliverables},
        aliases=_alias(workspace_root, base) | _alias(run_root, run),
        private=tuple(path.relative_to(base).as_posix() for path in runs if path.is_relative_to(base)),
        read_only=tuple(path.relative_to(base).as_posix() for path in read_only if path.is_relative_to(base)),
        private_names=frozenset({STATE_DIRECTORY}),
        hard_links="allow",
        file_mode=SHARED_FILE_MODE,
        directory_mode=SHARED_DIRECTORY_MODE,
    )


def _find_linked_runs(base: Path) -> list[Path]:
    """Find the directories of this workspace's runs that are stored elsewhere."""
    try:
        with os.scandir(runs_root(base)) as entries:
            return [Path(entry.path).resolve() for entry in entries if entry.is_symlink()]
    except OSError:
        return []


def _real(path: Path) -> Path:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise NotFound(f"the directory `{path}` cannot be found", hint="create it first") from error


def _alias(path: Path, real: Path) -> dict[Path, Path]:
    absolute = path.absolute()
    return {} if absolute == real else {absolute: real}


class Location(msgspec.Struct, frozen=True):
    """A mount (the empty name is the base) and the names below it."""

    mount: str
    parts: tuple[str, ...]

    def __str__(self) -> str:
        return "/".join((self.mount, *self.parts) if self.mount else self.parts) or "."


def printable(path: object, *, limit: int = MAX_RECORDED_CHARS) -> str:
    """Escape control characters and surrogates of a path and cut it to `limit` characters."""
    text = path if isinstance(path, str) else repr(path)
    return escape_controls(text[:limit])[:limit]


def escape_path(path: object) -> str:
    """Escape and shorten a path for a message."""
    return printable(path, limit=_MAX_SHOWN_CHARS)


def parse_path(policy: PathPolicy, path: str) -> Location:
    """Parse a path; raise for every form that is ambiguous or leaves the workspace."""
    _check_text(policy, path)
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if ".." in parts:
        raise PathEscape(f"`{escape_path(path)}` has a `..` segment", hint="use a path from the top of the workspace")
    if any((_byte_length(part) or 0) > MAX_NAME_BYTES for part in parts):
        raise ValidationFailed(
            f"`{escape_path(path)}` has a name longer than {MAX_NAME_BYTES} bytes", hint="shorten it"
        )
    if path.startswith("/"):
        return _from_absolute(policy, path, parts)
    if parts and parts[0] in policy.mounts:
        return Location(parts[0], parts[1:])
    return Location("", parts)


def check_read(policy: PathPolicy, location: Location) -> None:
    """Raise if the location may not be read."""
    if _is_private(policy, location):
        raise PolicyDenied(f"`{escape_path(str(location))}` is private to the runtime", hint="read something else")
    if location.parts and is_secret_name(location.parts[-1]):
        raise PolicyDenied(
            f"`{escape_path(str(location))}` holds secrets and is not read by tools",
            hint="read `.env.example`, or ask the user for what you need",
        )


def check_write(policy: PathPolicy, location: Location) -> None:
    """Raise if the location may not be written."""
    name = escape_path(str(location))
    if _is_protected(location) or _holds_variables(location):
        raise WriteRefused(f"`{name}` is protected and never written by tools", hint="leave it to the user")
    if not location.mount and _is_below(location, policy.read_only):
        raise WriteRefused(f"`{name}` is code that the runtime itself runs", hint="leave it to the user")
    if _is_private(policy, location) or not _is_below_a_write_root(policy, location):
        root = policy.write_roots[0] if policy.write_roots else "."
        hint = "write somewhere else"
        if root != "." and location.parts:
            hint = f"use `{root}/{escape_path(location.parts[-1])}`"
        raise WriteRefused(f"`{name}` is outside the writable directories", hint=hint)


def _check_text(policy: PathPolicy, path: str) -> None:
    if not isinstance(path, str):  # pyright: ignore[reportUnnecessaryIsInstance] - arguments come from a model
        raise ValidationFailed(f"the path `{escape_path(path)}` is not text", hint="give the path as a string")
    length = _byte_length(path)
    if not length or "\0" in path:
        raise ValidationFailed(
            f"`{escape_path(path)}` is not a path", hint="use a path that is not empty and is valid text without NUL"
        )
    if length > policy.max_path_bytes:
        raise ValidationFailed(f"a path of more than {policy.max_path_bytes} bytes was given", hint="shorten it")
    if "\\" in path:
        raise PathEscape(f"`{escape_path(path)}` has a backslash, which is ambiguous", hint="separate names with `/`")
    if path.startswith("~"):
        raise PathEscape(f"`{escape_path(path)}` begins with `~`, which is not expanded", hint="use a relative path")


def _byte_length(text: str) -> int | None:
    """Return the length on disk, or None when the text cannot be a file name."""
    try:
        text.encode()  # `os.fsencode` alone would let lone surrogates through
        return len(os.fsencode(text))
    except UnicodeEncodeError:
        return None


def _from_absolute(policy: PathPolicy, path: str, parts: tuple[str, ...]) -> Location:
    for alias in sorted(policy.aliases, key=lambda alias: -len(alias.parts)):
        if _starts_with(parts, alias.parts[1:]):
            parts = policy.aliases[alias].parts[1:] + parts[len(alias.parts) - 1 :]
            break
    for mount in (*policy.mounts, ""):
        root = policy.root(mount).parts[1:]
        if _starts_with(parts, root):
            return Location(mount, parts[len(root) :])
    raise PathEscape(f"`{escape_path(path)}` is outside the workspace", hint="use a path relative to the workspace")


def _starts_with(parts: Sequence[str], prefix: Sequence[str]) -> bool:
    return tuple(parts[: len(prefix)]) == tuple(prefix)


def _is_private(policy: PathPolicy, location: Location) -> bool:
    if not policy.private_names.isdisjoint(fold_name(part) for part in location.parts):
        return True
    return not location.mount and (_is_below(location, policy.private) or _is_in_a_run(policy, location))


def _is_in_a_run(policy: PathPolicy, location: Location) -> bool:
    """Return whether the location is inside a run directory, anywhere in a shared workspace."""
    if not policy.private_names:
        return False
    directory = policy.base
    for part in location.parts:
        directory = directory / part
        if all(os.path.lexists(directory / name) for name in RUN_FILES):
            return True
    return False


def _is_below(location: Location, prefixes: tuple[str, ...]) -> bool:
    names = [fold_name(part) for part in location.parts]
    return any(_starts_with(names, [fold_name(part) for part in prefix.split("/")]) for prefix in prefixes)


def _holds_variables(location: Location) -> bool:
    name = fold_name(location.parts[-1]) if location.parts else ""
    return name == ENV_FILE_PREFIX or name.startswith(ENV_FILE_PREFIX + ".")


def is_secret_name(name: str) -> bool:
    """Return whether a file of this name holds secrets, which tools may not read."""
    return is_secret_file(fold_name(name))


def _is_protected(location: Location) -> bool:
    names = [fold_name(part) for part in location.parts]
    if any(name in PROTECTED_NAMES or (is_autoloaded_name(name) and name != REPOSITORY) for name in names):
        return True
    if REPOSITORY not in names:
        return False
    inside = names[names.index(REPOSITORY) + 1 :]
    return not inside or inside[-1] == REPOSITORY or not _IN_GIT.isdisjoint(inside)


def _is_below_a_write_root(policy: PathPolicy, location: Location) -> bool:
    if location.mount:
        return True
    roots = [() if root == "." else tuple(root.split("/")) for root in policy.write_roots]
    return any(len(location.parts) > len(root) and _starts_with(location.parts, root) for root in roots)


def path_error(error: OSError, path: object) -> SkillsRuntimeError:
    """Translate an `OSError` about `path`."""
    meaning = _MEANING.get(error.errno or 0)
    if meaning is None:
        return StorageFailed(f"`{escape_path(path)}` could not be stored or read: {error.strerror or error}")
    error_type, text, hint = meaning
    return error_type(f"`{escape_path(path)}` {text}", hint=hint)
