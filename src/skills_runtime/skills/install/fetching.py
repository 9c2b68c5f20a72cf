"""What a fetcher is asked and gives, the one for this machine, and lists of skills at well-known addresses.

Downloads nothing: whatever needs the network or git is in `engine`.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, cast
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.skills.archives import safe_parts, unpack
from skills_runtime.skills.install.choosing import usable_directory_name
from skills_runtime.skills.install.sources import ArchiveSource, LocalSource, Source
from skills_runtime.text import one_line


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of a source is needed."""

    source: Source
    skills: tuple[str, ...] = ()
    """The names of the skills, where a source can give them apart; none means all, or the only one."""
    everything: bool = True
    """Whether all of several skills are meant where none is named."""
    commit: str | None = None
    """The exact version, where it is known."""
    named_by_user: bool = True
    """Whether the user named the source, now or before; a lock file alone may be anybody's."""


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """A source as it was brought here."""

    root: Path
    commit: str | None = None
    """The version it is, if the source has versions."""
    trees: Mapping[str, str] = {}
    """The names git has for directories of the source."""


class Fetcher(Protocol):
    """Brings sources here."""

    async def fetch(self, wanted: Wanted, into: Path) -> Fetched:
        """Put a source below a new directory, or raise and leave nothing that counts."""
        ...


class LocalFetcher:
    """Brings what is on this machine: directories and archives."""

    async def fetch(self, wanted: Wanted, into: Path) -> Fetched:
        """A directory is looked at where it is; an archive is unpacked."""
        source = wanted.source
        if isinstance(source, LocalSource):
            if not source.path.is_dir():
                raise NotFound(f"the directory `{source.path}` is gone", hint="install the skill from another place")
            return Fetched(root=source.path)
        if isinstance(source, ArchiveSource) and not source.is_remote:
            unpack(Path(source.location), into)
            return Fetched(root=into)
        raise NotFound("this source is not on this machine", hint="allow fetching, or install from a path")


MAX_INDEX_BYTES = 1 << 20
MAX_SKILLS = 2_000
MAX_FILES = 200
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_WELL_KNOWN = ("/.well-known/agent-skills/index.json", "/.well-known/skills/index.json")
_SHOWN = 20


class Download(msgspec.Struct, frozen=True):
    """One thing to be downloaded, and what it must be."""

    url: str
    path: str
    """Where it goes in the directory of the skill."""
    digest: str | None
    """Its SHA-256 in hex; the older version of the list has none."""


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that a site offers."""

    name: str
    kind: Literal["file", "archive", "files"]
    downloads: tuple[Download, ...]


def index_addresses(url: str) -> tuple[str, ...]:
    """Where the list of a site may be, the likeliest first."""
    if urlsplit(url).path.endswith(".json"):
        return (url,)
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    below = [f"{origin}{parts.path.rstrip('/')}{path}" for path in _WELL_KNOWN]
    return tuple(dict.fromkeys([*below, *(f"{origin}{path}" for path in _WELL_KNOWN)]))


def parse_index(data: bytes, address: str) -> tuple[Listed, ...]:
    """The skills in a list; one entry that is wrong makes the whole list unusable."""
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _wrong(address, f"it is not JSON: {error}") from error
    skills = cast("dict[str, Any]", document).get("skills") if isinstance(document, dict) else None
    if not isinstance(skills, list) or len(cast("list[Any]", skills)) > MAX_SKILLS:
        raise _wrong(address, "it has no list of skills, or one without end")
    listed = tuple(_listed(entry, address) for entry in cast("list[Any]", skills))
    names = [each.name for each in listed]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise _wrong(address, f"it has `{twice}` twice")
    return listed


def wanted_of(listed: Sequence[Listed], names: Sequence[str], *, everything: bool) -> list[Listed]:
    """The skills to download."""
    offered = {each.name: each for each in listed}
    shown = ", ".join(f"`{name}`" for name in list(offered)[:_SHOWN])
    missing = next((name for name in names if name not in offered), None)
    if missing is not None or not listed:
        raise NotFound(f"the site has no skill `{one_line(missing or '')}`", hint=f"it has: {shown or 'none'}")
    if names:
        return [offered[name] for name in dict.fromkeys(names)]
    if len(listed) > 1 and not everything:
        raise ValidationFailed(
            f"the site has {len(listed)} skills: {shown}", hint="choose with `--skill NAME`, or take `--all`"
        )
    return list(listed)


def _listed(entry: Any, address: str) -> Listed:
    fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    name = fields.get("name")
    if not isinstance(name, str):
        raise _wrong(address, "a skill has no name")
    usable_directory_name(name)
    if "files" in fields and "url" not in fields:
        return Listed(name=name, kind="files", downloads=_older(name, fields["files"], address))
    kind, url, digest = fields.get("type"), fields.get("url"), fields.get("digest")
    match = _DIGEST.fullmatch(digest) if isinstance(digest, str) else None
    if kind not in ("skill-md", "archive") or not isinstance(url, str) or match is None:
        raise _wrong(address, f"`{name}` has no type, address and digest that can be used")
    download = Download(urljoin(address, url), "SKILL.md", match[1])
    return Listed(name=name, kind="archive" if kind == "archive" else "file", downloads=(download,))


def _older(name: str, files: Any, address: str) -> tuple[Download, ...]:
    if not isinstance(files, list) or not 0 < len(cast("list[Any]", files)) <= MAX_FILES:
        raise _wrong(address, f"`{name}` has no list of files, or one without end")
    base = urljoin(address, ".")
    downloads: list[Download] = []
    for file in cast("list[Any]", files):
        if not isinstance(file, str):
            raise _wrong(address, f"a file of `{name}` has no name")
        path = "/".join(safe_parts(file))
        downloads.append(Download(f"{base}{quote(name)}/{quote(path)}", path, None))
    return tuple(downloads)


def _wrong(address: str, why: str) -> ValidationFailed:
    return ValidationFailed(
        f"the list of skills at `{one_line(address)[:200]}` cannot be used: {why}",
        hint="ask whoever runs the site to correct it",
        details={"code": "SKILL_INDEX_INVALID"},
    )
