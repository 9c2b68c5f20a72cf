"""Fetch skill sources: directories, archives, git repositories and sites with a skill index."""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, cast
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from skills_runtime.errors import NotFound, PolicyDenied, ValidationFailed
from skills_runtime.skills.archives import ArchiveLimits, split_safe_path, unpack
from skills_runtime.skills.install.git import RunGit, fetch_repository
from skills_runtime.skills.install.selection import check_directory_name
from skills_runtime.skills.install.sources import ArchiveSource, GitSource, IndexSource, InstallSource, LocalSource
from skills_runtime.skills.install.web import ClassifyAddress, Web, check_host, host_of
from skills_runtime.text import one_line


class FetchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a source to fetch."""

    source: InstallSource
    skills: tuple[str, ...] = ()
    """Names of the skills to fetch, for sources that can fetch them separately; empty means all or the only one."""
    everything: bool = True
    """Whether to fetch all skills of the source if `skills` is empty."""
    commit: str | None = None
    """The exact commit, if known."""
    named_by_user: bool = True
    """Whether the user named the source, now or before; a lock file alone is not trusted."""


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """A fetched source."""

    root: Path
    commit: str | None = None
    """The fetched commit, if the source has versions."""
    trees: Mapping[str, str] = {}
    """Git tree ids by directory path."""


class Fetcher(Protocol):
    """Fetches sources."""

    async def fetch(self, request: FetchRequest, into: Path) -> Fetched:
        """Fetch a source into a new directory."""
        ...


class LocalFetcher:
    """Fetches local directories and archives."""

    async def fetch(self, request: FetchRequest, into: Path) -> Fetched:
        """Return a directory as it is, or unpack an archive."""
        source = request.source
        if isinstance(source, LocalSource):
            if not source.path.is_dir():
                raise NotFound(f"the directory `{source.path}` is gone", hint="install the skill from another source")
            return Fetched(root=source.path)
        if isinstance(source, ArchiveSource) and not source.is_remote:
            unpack(Path(source.location), into)
            return Fetched(root=into)
        raise NotFound("this source is not on this machine", hint="allow fetching, or install from a path")


MAX_INDEX_BYTES = 1 << 20
MAX_INDEXED_SKILLS = 2_000
MAX_INDEXED_FILES = 200
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_WELL_KNOWN = ("/.well-known/agent-skills/index.json", "/.well-known/skills/index.json")
_MAX_LISTED_NAMES = 20


class Download(msgspec.Struct, frozen=True):
    """One file to download, with its expected digest."""

    url: str
    path: str
    """Target path in the skill's directory."""
    digest: str | None
    """SHA-256 in hex; None in the older index format."""


class IndexedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill in the index of a site."""

    name: str
    kind: Literal["file", "archive", "files"]
    downloads: tuple[Download, ...]


def index_addresses(url: str) -> tuple[str, ...]:
    """Return the possible addresses of a site's index, most likely first."""
    if urlsplit(url).path.endswith(".json"):
        return (url,)
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    path_candidates = [f"{origin}{parts.path.rstrip('/')}{path}" for path in _WELL_KNOWN]
    return tuple(dict.fromkeys([*path_candidates, *(f"{origin}{path}" for path in _WELL_KNOWN)]))


def parse_index(data: bytes, address: str) -> tuple[IndexedSkill, ...]:
    """Parse the index of a site; one invalid entry invalidates the whole index."""
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _invalid_index(address, f"it is not JSON: {error}") from error
    skills = cast("dict[str, Any]", document).get("skills") if isinstance(document, dict) else None
    if not isinstance(skills, list) or len(cast("list[Any]", skills)) > MAX_INDEXED_SKILLS:
        raise _invalid_index(address, f"it has no `skills` list, or one with more than {MAX_INDEXED_SKILLS} entries")
    indexed = tuple(_parse_entry(entry, address) for entry in cast("list[Any]", skills))
    names = [skill.name for skill in indexed]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise _invalid_index(address, f"it lists `{duplicate}` twice")
    return indexed


def select_indexed(skills: Sequence[IndexedSkill], names: Sequence[str], *, everything: bool) -> list[IndexedSkill]:
    """Return the skills to download: the named ones, the only one, or all."""
    skills_by_name = {skill.name: skill for skill in skills}
    name_list = ", ".join(f"`{name}`" for name in list(skills_by_name)[:_MAX_LISTED_NAMES])
    missing = next((name for name in names if name not in skills_by_name), None)
    if missing is not None or not skills:
        raise NotFound(f"the site has no skill `{one_line(missing or '')}`", hint=f"it has: {name_list or 'none'}")
    if names:
        return [skills_by_name[name] for name in dict.fromkeys(names)]
    if len(skills) > 1 and not everything:
        raise ValidationFailed(
            f"the site has {len(skills)} skills: {name_list}", hint="choose with `--skill NAME`, or take `--all`"
        )
    return list(skills)


def _parse_entry(entry: Any, address: str) -> IndexedSkill:
    fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    name = fields.get("name")
    if not isinstance(name, str):
        raise _invalid_index(address, "a skill has no name")
    check_directory_name(name)
    if "files" in fields and "url" not in fields:
        return IndexedSkill(name=name, kind="files", downloads=_file_downloads(name, fields["files"], address))
    kind, url, digest = fields.get("type"), fields.get("url"), fields.get("digest")
    match = _DIGEST.fullmatch(digest) if isinstance(digest, str) else None
    if kind not in ("skill-md", "archive") or not isinstance(url, str) or match is None:
        raise _invalid_index(address, f"`{name}` needs a valid type, url and digest")
    download = Download(urljoin(address, url), "SKILL.md", match[1])
    return IndexedSkill(name=name, kind="archive" if kind == "archive" else "file", downloads=(download,))


def _file_downloads(name: str, files: Any, address: str) -> tuple[Download, ...]:
    if not isinstance(files, list) or not 0 < len(cast("list[Any]", files)) <= MAX_INDEXED_FILES:
        raise _invalid_index(
            address, f"`{name}` has no `files` list, or one with more than {MAX_INDEXED_FILES} entries"
        )
    base = urljoin(address, ".")
    downloads: list[Download] = []
    for file in cast("list[Any]", files):
        if not isinstance(file, str):
            raise _invalid_index(address, f"a file of `{name}` has no name")
        path = "/".join(split_safe_path(file))
        downloads.append(Download(f"{base}{quote(name)}/{quote(path)}", path, None))
    return tuple(downloads)


def _invalid_index(address: str, reason: str) -> ValidationFailed:
    return ValidationFailed(
        f"the skill index at `{one_line(address)[:200]}` cannot be used: {reason}",
        hint="report it to the owner of the site",
        details={"code": "SKILL_INDEX_INVALID"},
    )


_ARCHIVE_BYTES = ArchiveLimits().archive_bytes
_FILE_BYTES = 8 << 20


class SkillFetcher:
    """Fetches sources of all kinds.

    `environment` provides `PATH` and the ssh agent's socket for git. Hosts with non-public addresses are contacted
    only if the user named the source or allowed the host.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        run_git: RunGit,
        classify: ClassifyAddress,
        *,
        allowed_hosts: Collection[str] = (),
    ) -> None:
        self._environment = environment
        self._run_git = run_git
        self._classify = classify
        self._allowed_hosts = frozenset(host.lower() for host in allowed_hosts)

    async def fetch(self, request: FetchRequest, into: Path) -> Fetched:
        """Fetch a source of any kind into a new directory."""
        source = request.source
        if isinstance(source, GitSource):
            settings = await self._pin_addresses(request, source.url) if source.url.startswith("http") else ()
            checkout = await fetch_repository(
                source, request.commit, into, self._environment, self._run_git, settings=settings
            )
            return Fetched(root=into, commit=checkout.commit, trees=checkout.trees)
        if isinstance(source, IndexSource):
            async with Web(self._hosts(request, source.url), self._classify) as web:
                await _download_index(web, source.url, request, into)
            return Fetched(root=into)
        if isinstance(source, ArchiveSource) and source.is_remote:
            async with Web(self._hosts(request, source.location), self._classify) as web:
                data = await web.get(source.location, limit=_ARCHIVE_BYTES)
            _unpack_bytes(data, into)
            return Fetched(root=into)
        return await LocalFetcher().fetch(request, into)

    async def _pin_addresses(self, request: FetchRequest, url: str) -> tuple[str, ...]:
        """Return git settings that pin the host to its checked addresses, unless the user named the host."""
        parts, hosts = urlsplit(url), self._hosts(request, url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        addresses = await check_host(host_of(url), hosts, self._classify, port)
        if host_of(url) in hosts:
            return ()
        name = parts.hostname or ""
        if not name.isascii() or name != host_of(url) or ":" in name:
            raise ValidationFailed(
                f"`{one_line(name)[:200]}` is not a plain host name", hint="write it in ASCII letters"
            )
        return (f"http.curloptResolve={name}:{port}:{','.join(addresses)}", "http.followRedirects=false")

    def _hosts(self, request: FetchRequest, url: str) -> frozenset[str]:
        return self._allowed_hosts | {host_of(url)} if request.named_by_user else self._allowed_hosts


async def _download_index(web: Web, url: str, request: FetchRequest, into: Path) -> None:
    """Download the requested skills of a site, each into a directory of its name."""
    for address in index_addresses(url):
        data = await web.find(address, limit=MAX_INDEX_BYTES)
        if data is not None:
            break
    else:
        raise NotFound(
            f"`{url}` lists no skills at a well-known address",
            hint="for a git repository write `git+` before the address, or end it with `.git`",
        )
    chosen = select_indexed(parse_index(data, address), request.skills, everything=request.everything)
    into.mkdir(mode=0o700)
    for skill in chosen:
        directory = into / skill.name
        if skill.kind == "archive":
            _unpack_bytes(await _download(web, skill.downloads[0], _ARCHIVE_BYTES), directory)
            continue
        directory.mkdir(mode=0o700)
        for download in skill.downloads:
            target = directory / download.path
            target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.write(await _download(web, download, _FILE_BYTES))


async def _download(web: Web, download: Download, limit: int) -> bytes:
    data = await web.get(download.url, limit=limit)
    if download.digest is not None and hashlib.sha256(data).hexdigest() != download.digest:
        raise PolicyDenied(
            f"the content of `{download.url}` does not match the digest in the site's index",
            hint="nothing was installed; try again later, or report it to the owner of the site",
            details={"code": "SKILL_INDEX_DIGEST_MISMATCH"},
        )
    return data


def _unpack_bytes(data: bytes, into: Path) -> None:
    archive = into.with_name(f"{into.name}.archive")
    archive.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        archive.write_bytes(data)
        unpack(archive, into)
    finally:
        archive.unlink(missing_ok=True)
