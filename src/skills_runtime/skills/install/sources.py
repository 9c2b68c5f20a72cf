"""Parse skill sources from the command line and from lock entries, and convert them to lock entries.

Does no I/O except to check whether a path exists.
"""

import os
import re
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import msgspec

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.skills.install.lockfile import LockEntry
from skills_runtime.text import one_line

ARCHIVE_SUFFIXES = (".zip", ".skill", ".tar", ".tar.gz", ".tgz")
_SHORT = re.compile(r"(?P<owner>[A-Za-z0-9][\w.-]*)/(?P<repo>[\w.-]+)(?P<path>(?:/[\w. -]+)*)(?:@(?P<ref>[\w./+-]+))?")
_REF = re.compile(r"(?!-)(?!.*\.\.)(?!.*//)[\w./+@-]{1,200}")
_SSH = re.compile(r"\w[\w.-]*@\w[\w.-]*:(?!/)[\w./~-]+")
_FORGES = {"github.com": "github", "gitlab.com": "gitlab", "bitbucket.org": "git", "codeberg.org": "git"}
_TREE = re.compile(r"/(?P<repo>[^/]+/[^/]+(?:/[^/]+)*?)/(?:-/)?(?:tree|blob)/(?P<ref>[^/]+)(?:/(?P<path>.+))?")


class GitSource(msgspec.Struct, frozen=True, kw_only=True):
    """A git repository, or a part of it."""

    url: str
    name: str
    """Name in the lock file: `owner/repo` or the address."""
    kind: Literal["github", "gitlab", "git"] = "git"
    ref: str | None = None
    """A branch, tag or commit; None means the default branch."""
    path: str | None = None
    """The directory to search."""


class LocalSource(msgspec.Struct, frozen=True):
    """A directory on this machine."""

    path: Path


class ArchiveSource(msgspec.Struct, frozen=True):
    """A local or remote archive."""

    location: str
    """A path or an address."""

    @property
    def is_remote(self) -> bool:
        """Whether the archive must be downloaded."""
        return self.location.startswith(("https://", "http://"))


class IndexSource(msgspec.Struct, frozen=True):
    """A site that lists its skills at a well-known address."""

    url: str


InstallSource = GitSource | LocalSource | ArchiveSource | IndexSource


def parse_source(text: str, *, here: Path, ref: str | None = None) -> InstallSource:
    """Parse a source as typed by the user; an existing path takes precedence."""
    stripped = text.strip()
    if not stripped or any(not character.isprintable() for character in stripped) or stripped.startswith("-"):
        raise unusable_source(text)
    if ref is not None:
        checked_ref(ref)
    is_address = "://" in stripped or _SSH.fullmatch(stripped.split("#")[0]) is not None
    source = _parse_address(stripped, ref) if is_address else _parse_path(stripped, here, ref)
    if ref is not None and not isinstance(source, GitSource):
        raise ValidationFailed("only a git repository has versions to choose from", hint="leave out `--ref`")
    return source


def checked_ref(ref: str) -> str:
    """Return the ref if git cannot mistake it for an option or a range; raise otherwise."""
    if not _REF.fullmatch(ref):
        raise ValidationFailed(
            f"`{one_line(ref)[:80]}` is not the name of a version", hint="name a branch, tag or commit"
        )
    return ref


def unusable_source(text: str) -> ValidationFailed:
    """Build the error for text that names no source."""
    return ValidationFailed(
        f"`{one_line(text)[:120]}` does not say where a skill comes from",
        hint="name `owner/repo`, an address, a directory, or a .zip or .skill file",
    )


def _parse_path(text: str, base: Path, ref: str | None) -> InstallSource:
    path = base / Path(text).expanduser()
    if path.is_dir():
        return LocalSource(path)
    if path.is_file():
        if path.name.lower() == "skill.md":
            return LocalSource(path.parent)
        return ArchiveSource(str(path))
    if text.startswith((".", "/", "~")) or text.lower().endswith(ARCHIVE_SUFFIXES):
        raise NotFound(f"there is nothing at `{one_line(text)}`", hint="check the path")
    bare, _, fragment = text.partition("#")
    short = _SHORT.fullmatch(bare)
    if short is None or ".." in bare:
        raise unusable_source(text)
    name = f"{short['owner']}/{short['repo'].removesuffix('.git')}"
    return GitSource(
        url=f"https://github.com/{name}.git",
        name=name,
        kind="github",
        ref=ref or _parse_ref(fragment) or _parse_ref(short["ref"] or ""),
        path=short["path"].strip("/") or None,
    )


def _parse_address(text: str, ref: str | None) -> InstallSource:
    bare, _, fragment = text.partition("#")
    wants_git = bare.startswith("git+")
    bare = bare.removeprefix("git+")
    version = ref or _parse_ref(fragment)
    if _SSH.fullmatch(bare):
        return GitSource(url=bare, name=bare, ref=version)
    parts = urlsplit(bare)
    if parts.password or (parts.username and parts.scheme != "ssh"):
        raise ValidationFailed("an address must not hold a password", hint="use ssh for what is not public")
    if parts.scheme not in ("https", "http", "ssh", "file") or (parts.scheme != "file" and not parts.hostname):
        raise unusable_source(text)
    if parts.scheme in ("ssh", "file"):
        if len(parts.path) < 2 or (parts.hostname or "x").startswith("-"):
            raise unusable_source(text)
        return GitSource(url=bare, name=bare, ref=version)
    forge = _FORGES.get(parts.hostname or "")
    if bare.lower().endswith(ARCHIVE_SUFFIXES) and not wants_git:
        return ArchiveSource(bare)
    if forge is None and not wants_git and not parts.path.endswith(".git"):
        return IndexSource(bare)
    return _parse_repository(bare, forge, version)


def _parse_repository(url: str, forge: str | None, ref: str | None) -> GitSource:
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    kind: Literal["github", "gitlab", "git"] = (
        "github" if forge == "github" else "gitlab" if forge == "gitlab" else "git"
    )
    path = unquote(parts.path).rstrip("/")
    if "//" in path or ".." in path or not path.strip("/"):
        raise unusable_source(url)
    tree = _TREE.fullmatch(path) if forge else None
    if tree is not None:
        within = (tree["path"] or "").removesuffix("/SKILL.md").removesuffix("SKILL.md").strip("/")
        repo = tree["repo"].removesuffix(".git")
        version = ref or checked_ref(tree["ref"])
        return GitSource(
            url=f"{origin}/{repo}.git",
            name=_repository_name(origin, repo, kind),
            kind=kind,
            ref=version,
            path=within or None,
        )
    repo = path.strip("/").removesuffix(".git")
    address = f"{origin}/{repo}.git" if forge else url
    return GitSource(url=address, name=_repository_name(origin, repo, kind), kind=kind, ref=ref)


def _repository_name(origin: str, repo: str, kind: str) -> str:
    return repo if kind in ("github", "gitlab") else f"{origin}/{repo}.git"


def _parse_ref(text: str) -> str | None:
    return checked_ref(text) if text else None


def source_label(source: InstallSource) -> str:
    """Derive a directory name from a source."""
    text = {GitSource: "url", LocalSource: "path", ArchiveSource: "location", IndexSource: "url"}[type(source)]
    last = str(getattr(source, text)).rstrip("/").split("/")[-1].lower()
    for suffix in (*ARCHIVE_SUFFIXES, ".git"):
        last = last.removesuffix(suffix)
    return re.sub(r"[^a-z0-9]+", "-", last).strip("-")[:60] or "skill"


_GIT_KINDS = ("github", "gitlab", "git")


def entry_for(source: InstallSource, *, root: Path, skill_path: str | None = None) -> LockEntry:
    """Build the lock entry of a source; local paths are stored relative to `root`."""
    if isinstance(source, GitSource):
        file = f"{skill_path}/SKILL.md" if skill_path else "SKILL.md"
        return LockEntry(
            source=source.name, source_type=source.kind, source_url=source.url, ref=source.ref, skill_path=file
        )
    if isinstance(source, IndexSource):
        return LockEntry(source=source.url, source_type="well-known", source_url=source.url)
    path = f"{skill_path}/SKILL.md" if skill_path else None
    if isinstance(source, ArchiveSource):
        if source.is_remote:
            return LockEntry(source=source.location, source_type="archive", source_url=source.location, skill_path=path)
        return LockEntry(source=_relative_to(Path(source.location), root), source_type="archive", skill_path=path)
    return LockEntry(source=_relative_to(source.path, root), source_type="local", skill_path=path)


def locked_source(name: str, entry: LockEntry, *, root: Path) -> InstallSource:
    """Return the source of a lock entry."""
    if entry.source_type in _GIT_KINDS:
        return _parse_locked_repository(entry, root)
    if entry.source_type == "well-known":
        return IndexSource(entry.source_url or entry.source)
    if entry.source_type == "archive" or (
        entry.source_type == "local" and entry.source.lower().endswith(ARCHIVE_SUFFIXES)
    ):
        remote = entry.source.startswith(("https://", "http://"))
        return ArchiveSource(entry.source if remote else str(root / Path(entry.source).expanduser()))
    if entry.source_type == "local":
        return LocalSource(root / Path(entry.source).expanduser())
    raise ValidationFailed(
        f"`{name}` comes from a source of the type `{one_line(entry.source_type)[:40]}`, which is not known here",
        hint="install it anew with `skills install`, or use the program that locked it",
    )


def locked_path(entry: LockEntry) -> str | None:
    """Return the skill's directory in its source: empty for the whole source, None if not recorded."""
    if entry.skill_path is None:
        return None
    path = entry.skill_path.replace("\\", "/")
    path = "" if path.lower() == "skill.md" else path
    return path[: -len("/SKILL.md")] if path.lower().endswith("/skill.md") else path.strip("/")


def _parse_locked_repository(entry: LockEntry, root: Path) -> GitSource:
    source = parse_source(entry.source_url or entry.source, here=Path(os.devnull))
    if not isinstance(source, GitSource):
        source = parse_source(f"git+{entry.source_url or entry.source}", here=root)
    if not isinstance(source, GitSource):
        raise ValidationFailed(f"`{one_line(entry.source)[:80]}` is no git repository", hint="correct the lock file")
    kind = "github" if entry.source_type == "github" else "gitlab" if entry.source_type == "gitlab" else "git"
    ref = checked_ref(entry.ref) if entry.ref else None
    return msgspec.structs.replace(source, name=entry.source, kind=kind, ref=ref, path=None)


def _relative_to(path: Path, root: Path) -> str:
    """Return a path below the root as a relative one, so that the project can be moved."""
    real = Path(os.path.realpath(path))
    near = os.path.relpath(real, os.path.realpath(root))
    return str(real) if near.startswith("..") else f"./{near}"
