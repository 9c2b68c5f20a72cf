"""One fetcher for every kind of source."""

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path

from skills_runtime.engine.skill_fetch.git import fetch_repository
from skills_runtime.engine.skill_fetch.web import Web, check_host, host_of
from skills_runtime.errors import NotFound, PolicyDenied
from skills_runtime.skills.archives import ArchiveLimits, unpack
from skills_runtime.skills.install.fetching import (
    MAX_INDEX_BYTES,
    Download,
    Fetched,
    Listed,
    LocalFetcher,
    Wanted,
    index_addresses,
    parse_index,
    wanted_of,
)
from skills_runtime.skills.install.sources import ArchiveSource, GitSource, IndexSource

_LIMITS = ArchiveLimits()
_FILE_BYTES = 8 << 20


class SkillFetcher:
    """Brings sources of all kinds.

    `environment` is where git finds its program and the agent that holds ssh keys. Hosts that are not on the open
    internet are asked only if the user named the source, or allowed the host.
    """

    def __init__(self, environment: Mapping[str, str], *, allowed_hosts: Collection[str] = ()) -> None:
        self._environment = environment
        self._allowed = frozenset(host.lower() for host in allowed_hosts)

    async def fetch(self, wanted: Wanted, into: Path) -> Fetched:
        """Put a source below a new directory."""
        source = wanted.source
        if isinstance(source, GitSource):
            if source.url.startswith(("https://", "http://")):
                await check_host(host_of(source.url), self._hosts(wanted, source.url))
            return await fetch_repository(source, wanted.commit, into, self._environment)
        if isinstance(source, IndexSource):
            return await _from_index(source, wanted, into, self._hosts(wanted, source.url))
        if isinstance(source, ArchiveSource) and source.is_remote:
            return await _from_address(source, into, self._hosts(wanted, source.location))
        return await LocalFetcher().fetch(wanted, into)

    def _hosts(self, wanted: Wanted, url: str) -> frozenset[str]:
        return self._allowed | {host_of(url)} if wanted.named_by_user else self._allowed


async def _from_address(source: ArchiveSource, into: Path, named: Collection[str]) -> Fetched:
    async with Web(named) as web:
        data = await web.get(source.location, limit=_LIMITS.archive_bytes)
    _unpacked(data, into)
    return Fetched(root=into)


async def _from_index(source: IndexSource, wanted: Wanted, into: Path, named: Collection[str]) -> Fetched:
    async with Web(named) as web:
        address, data = await _index(web, source.url)
        chosen = wanted_of(parse_index(data, address), wanted.skills, everything=wanted.everything)
        into.mkdir(mode=0o700)
        for skill in chosen:
            await _download(web, skill, into / skill.name)
    return Fetched(root=into)


async def _index(web: Web, url: str) -> tuple[str, bytes]:
    for address in index_addresses(url):
        data = await web.find(address, limit=MAX_INDEX_BYTES)
        if data is not None:
            return address, data
    raise NotFound(
        f"`{url}` lists no skills at a well-known address",
        hint="for a git repository write `git+` before the address, or end it with `.git`",
    )


async def _download(web: Web, skill: Listed, into: Path) -> None:
    if skill.kind == "archive":
        _unpacked(await _checked(web, skill.downloads[0], _LIMITS.archive_bytes), into)
        return
    into.mkdir(mode=0o700)
    for each in skill.downloads:
        target = into / each.path
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(await _checked(web, each, _FILE_BYTES))


async def _checked(web: Web, download: Download, limit: int) -> bytes:
    data = await web.get(download.url, limit=limit)
    if download.digest is not None and hashlib.sha256(data).hexdigest() != download.digest:
        raise PolicyDenied(
            f"what `{download.url}` gave is not what the site's list says",
            hint="nothing was installed; try again later, or ask whoever runs the site",
            details={"code": "SKILL_INDEX_DIGEST_MISMATCH"},
        )
    return data


def _unpacked(data: bytes, into: Path) -> None:
    archive = into.with_name(f"{into.name}.archive")
    archive.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        archive.write_bytes(data)
        unpack(archive, into)
    finally:
        archive.unlink(missing_ok=True)
