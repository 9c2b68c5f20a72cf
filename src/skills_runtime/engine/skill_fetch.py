"""Brings skills here from elsewhere: git repositories, archives and sites that list their skills.

An address may come from somebody nobody trusts. Machines that are not on the open internet are reached only under the
very host that the user typed, and the address that was checked is the one that is connected to. Git runs without any
configuration but ours, so that nothing of a repository can act, and only files of one version are written.
"""

import asyncio
import hashlib
import os
import re
import socket
import ssl
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urljoin, urlsplit

import msgspec

from skills_runtime.errors import NotFound, PolicyDenied, ToolError, ValidationFailed
from skills_runtime.ports.sandbox import Enclosure, Watch
from skills_runtime.processes import Command, Finished, Limits, execute
from skills_runtime.sandbox.egress.rules import parse_address, reach_of
from skills_runtime.skills.archives import ArchiveLimits, safe_parts, unpack
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
from skills_runtime.skills.install.sources import ArchiveSource, GitSource, IndexSource, checked_ref
from skills_runtime.text import one_line

if TYPE_CHECKING:
    import httpx2

MAX_FILES = 50_000
MAX_BYTES = 512 << 20
MAX_PACK_BYTES = 2 << 30
MAX_DISK_FILES = 200_000
FETCH_SECONDS = 300
_LIST_BYTES = 64 << 20
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=true",
    "core.autocrlf=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "credential.helper=",
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.http.allow=always",
    "protocol.ssh.allow=always",
    "protocol.file.allow=always",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.fsckObjects=true",
    "transfer.bundleURI=false",
    "http.followRedirects=initial",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
)
_SSH = "ssh -oBatchMode=yes -oForwardAgent=no -oClearAllForwardings=yes -oPermitLocalCommand=no"


class _Listed(msgspec.Struct, frozen=True):
    """The list of a version: its files, and the names of its directories."""

    files: tuple[bytes, ...]
    trees: Mapping[str, str]


async def fetch_repository(
    source: GitSource, commit: str | None, into: Path, environment: Mapping[str, str]
) -> Fetched:
    """The files of one version of a repository below a new directory."""
    into.mkdir(mode=0o700)
    git = _Git(into.with_name(f"{into.name}.git"), environment, uses_ssh=not source.url.startswith(("http", "file")))
    await git.call("init", "--quiet", "--bare", "--template=", str(git.directory), inside=False)
    await git.fetch(source, commit)
    version = (await git.call("rev-parse", "--verify", "FETCH_HEAD^{commit}")).decode().strip()
    if commit is not None and version != commit:
        raise ValidationFailed(f"the repository gave version {version} instead of {commit}", hint="try again")
    listed = await git.listed(source.path)
    await git.call("read-tree", version)
    tree = f"--work-tree={into}"
    await git.call(tree, "checkout-index", "--quiet", "--force", "-z", "--stdin", stdin=b"".join(listed.files))
    return Fetched(root=into, commit=version, trees=listed.trees)


class _Git:
    """A bare repository, and the program that works on it."""

    def __init__(self, directory: Path, environment: Mapping[str, str], *, uses_ssh: bool) -> None:
        self.directory = directory
        self._environment = _clean(environment, directory, uses_ssh=uses_ssh)

    async def fetch(self, source: GitSource, commit: str | None) -> None:
        """Bring one version and nothing of its history."""
        wanted = checked_ref(commit or source.ref or "HEAD")
        arguments = ("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", source.url, wanted)
        finished = await self._run(arguments)
        if finished.ended_by == "resource_limit":
            raise ValidationFailed(
                "the repository is too large to be fetched", hint="fetch it yourself, install its path"
            )
        if finished.exit_code != 0:
            raise _not_fetched(source, wanted, finished)

    async def listed(self, within: str | None) -> _Listed:
        """What is in the version; a list that is too long, or has a name that is not safe, is refused."""
        data = await self.call("ls-tree", "-r", "-t", "-z", "-l", "--full-tree", "FETCH_HEAD")
        root = (await self.call("rev-parse", "--verify", "FETCH_HEAD^{tree}")).decode().strip()
        files: list[bytes] = []
        trees, size = {"": root}, 0
        inside = "/".join(safe_parts(within)) + "/" if within else ""
        for line in data.split(b"\0")[:-1]:
            about, _, name = line.partition(b"\t")
            _, kind, object_id, length = about.split()
            path = os.fsdecode(name)
            if kind == b"tree":
                trees[path] = object_id.decode()
            elif kind == b"blob" and path.startswith(inside):
                files.append(name + b"\0")
                size += int(length)
        if len(files) > MAX_FILES or size > MAX_BYTES:
            raise ValidationFailed(
                f"the repository has {len(files)} files and {size >> 20} MiB, which is too much to look through",
                hint="name the directory of the skill in it, such as `owner/repo/skills/name`",
            )
        if inside and not files:
            raise NotFound(f"there is no directory `{one_line(within or '')}` in the repository", hint="check its path")
        return _Listed(tuple(files), trees)

    async def call(self, *arguments: str, stdin: bytes = b"", inside: bool = True) -> bytes:
        """What git answers; raises when it fails."""
        finished = await self._run(arguments, stdin=stdin, inside=inside)
        if finished.exit_code != 0:
            raise ToolError("unknown", f"git failed: {_said(finished)}", hint="`git --version` must be 2.30 or later")
        if finished.stdout.left_out:
            raise ValidationFailed("the repository has too many files to be listed", hint="use a smaller one")
        return finished.stdout.head + finished.stdout.tail

    async def _run(self, arguments: Sequence[str], *, stdin: bytes = b"", inside: bool = True) -> Finished:
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        where = [f"--git-dir={self.directory}"] if inside else []
        command = Command(
            argv=("git", *where, *settings, *arguments),
            cwd=self.directory.parent,
            environment=self._environment,
            stdin=stdin,
            enclosure=_bounded(self.directory.parent),
        )
        return await execute(command, Limits(wall_seconds=FETCH_SECONDS, output_bytes=2 * _LIST_BYTES))


def _bounded(directory: Path) -> Enclosure:
    """Git is ended when it fills a directory with more than anybody needs."""
    return Enclosure(watch=Watch(disk_path=str(directory), disk_bytes=MAX_PACK_BYTES, disk_files=MAX_DISK_FILES))


def _clean(environment: Mapping[str, str], directory: Path, *, uses_ssh: bool) -> dict[str, str]:
    """The whole environment of git: nothing of the user but where programs are and, for ssh, who holds their keys."""
    chosen = {
        "PATH": environment.get("PATH", os.defpath),
        "HOME": str(directory),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "SSH_ASKPASS": "/bin/false",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_SSH_COMMAND": _SSH,
        "GIT_CEILING_DIRECTORIES": "/",
    }
    if uses_ssh and "SSH_AUTH_SOCK" in environment:
        chosen["SSH_AUTH_SOCK"] = environment["SSH_AUTH_SOCK"]
    return chosen


def _not_fetched(source: GitSource, wanted: str, finished: Finished) -> NotFound | ToolError:
    said = _said(finished)
    where = f"`{one_line(source.url)[:200]}`"
    if finished.ended_by == "timeout":
        return ToolError("timeout", f"{where} did not answer within {FETCH_SECONDS} seconds", hint="try again later")
    if "couldn't find remote ref" in said or "not our ref" in said:
        return NotFound(f"{where} has no version `{one_line(wanted)[:80]}`", hint="check the branch, tag or commit")
    return NotFound(
        f"{where} cannot be fetched: {said}",
        hint="check the address; for a repository that is not public use ssh, since nobody is asked for a password",
    )


def _said(finished: Finished) -> str:
    text = (finished.stderr.head + finished.stderr.tail).decode(errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    return one_line(" ".join(lines[-2:]))[:300] or f"it ended by {finished.ended_by}"


MAX_REDIRECTS = 5
TIMEOUT_SECONDS = 60
_REDIRECTS = (301, 302, 303, 307, 308)
_GONE = (404, 410)


class Web:
    """Gets files; `named` has the hosts that the user typed."""

    def __init__(self, named: Collection[str]) -> None:
        self._named = frozenset(named)
        self._client: httpx2.AsyncClient

    async def __aenter__(self) -> Self:
        import httpx2

        # Neither proxies nor credentials of the environment: an address may come from somebody else.
        # No connection is used twice: two hosts may share an address, but not the certificate that was checked.
        self._client = httpx2.AsyncClient(
            trust_env=False,
            timeout=TIMEOUT_SECONDS,
            follow_redirects=False,
            limits=httpx2.Limits(max_keepalive_connections=0),
        )
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    async def get(self, url: str, *, limit: int) -> bytes:
        """What is at an address; more than `limit` bytes are refused."""
        data = await self.find(url, limit=limit)
        if data is None:
            raise NotFound(f"there is nothing at `{one_line(url)[:200]}`", hint="check the address")
        return data

    async def find(self, url: str, *, limit: int) -> bytes | None:
        """The same, or nothing where nothing is."""
        import httpx2

        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await self._followed(url, limit)
        except (httpx2.ConnectError, ConnectionError) as error:
            raise ToolError(
                "not_found",
                f"`{one_line(url)[:200]}` cannot be downloaded: nothing answers there"
                f" ({one_line(str(error) or type(error).__name__)[:200]})",
                hint="check the address, and whether the site is up; proxies of the environment are not used",
            ) from error
        except (httpx2.TimeoutException, TimeoutError) as error:
            raise ToolError(
                "timeout",
                f"`{one_line(url)[:200]}` did not answer within {TIMEOUT_SECONDS} seconds",
                hint="try again later",
            ) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError, OSError) as error:
            why = str(error) or type(error).__name__
            raise ToolError(
                "unknown",
                f"`{one_line(url)[:200]}` cannot be downloaded: {one_line(why)[:200]}",
                hint="try again later",
            ) from error

    async def _followed(self, url: str, limit: int) -> bytes | None:
        for _ in range(MAX_REDIRECTS + 1):
            status, location, data = await self._once(url, limit)
            if status not in _REDIRECTS:
                break
            url = urljoin(url, location)
        else:
            raise PolicyDenied(f"the address redirects more than {MAX_REDIRECTS} times", hint="use the final address")
        if status in _GONE:
            return None
        if status != 200:
            raise ToolError("unknown", f"`{one_line(url)[:200]}` answered with status {status}", hint="try again later")
        return data

    async def _once(self, url: str, limit: int) -> tuple[int, str, bytes]:
        """One answer, without following where it leads; addresses of the host are tried one after another."""
        import httpx2

        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        addresses = await check_host(host_of(url), self._named, port)
        for number, address in enumerate(addresses, start=1):
            if parts.scheme == "http" and reach_of_text(address) == "public":
                raise PolicyDenied(f"`{one_line(url)[:200]}` is not encrypted", hint="use an address with https")
            try:
                return await self._asked(url, address, limit)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if number == len(addresses):
                    raise
        raise NotFound(f"the host of `{one_line(url)[:200]}` has no address", hint="check its name")

    async def _asked(self, url: str, address: str, limit: int) -> tuple[int, str, bytes]:
        parts, host = urlsplit(url), host_of(url)
        port = f":{parts.port}" if parts.port else ""
        target = parts._replace(netloc=f"{_bracketed(address)}{port}", fragment="").geturl()
        headers = {"Host": f"{_bracketed(host)}{port}", "Accept-Encoding": "identity", "User-Agent": "skills-runtime"}
        async with self._client.stream("GET", target, headers=headers, extensions={"sni_hostname": host}) as answer:
            pieces: list[bytes] = []
            size = 0
            async for piece in answer.aiter_raw():
                size += len(piece)
                if size > limit:
                    raise PolicyDenied(f"`{one_line(url)[:200]}` has more than {limit} bytes", hint="nothing was kept")
                pieces.append(piece)
            return answer.status_code, answer.headers.get("location", ""), b"".join(pieces)


async def check_host(host: str, named: Collection[str], port: int = 443) -> list[str]:
    """The addresses of a host; unless the user named it, every one of them must be on the open internet."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotFound(f"the host `{one_line(host)[:200]}` cannot be found", hint="check its name") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    for address in addresses:
        reach = reach_of_text(address)
        if reach != "public" and (host not in named or reach == "metadata"):
            raise PolicyDenied(
                f"`{one_line(host)[:200]}` leads to {address}, which is not on the open internet",
                hint="name the address of a private site yourself, or allow it with `--allow-host`",
                details={"code": "SKILL_FETCH_PRIVATE_ADDRESS"},
            )
    return addresses


def host_of(url: str) -> str:
    """The host of an address that can be downloaded from."""
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username or parts.password:
        raise ValidationFailed(f"`{one_line(url)[:200]}` is no address to download from", hint="use one with https")
    return parts.hostname.rstrip(".").lower()


def reach_of_text(address: str) -> str:
    """Where an address leads; one that cannot be read leads nowhere good."""
    parsed = parse_address(address)
    return "special" if parsed is None else reach_of(parsed)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


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


__all__ = ["SkillFetcher"]
