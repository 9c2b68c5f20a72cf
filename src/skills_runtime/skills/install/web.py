"""Download files over HTTP for the installation of skills.

A URL may come from an untrusted index or lock file. Hosts with non-public addresses are contacted only if the user
named them, and the connection uses exactly the address that was checked.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Collection
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self
from urllib.parse import urljoin, urlsplit

from skills_runtime.errors import NotFound, PolicyDenied, ToolError, ValidationFailed
from skills_runtime.text import one_line

if TYPE_CHECKING:
    import httpx2

MAX_REDIRECTS = 5
TIMEOUT_SECONDS = 60
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_NOT_FOUND_STATUSES = (404, 410)

Reach = Literal["public", "private", "special", "metadata"]
ClassifyAddress = Callable[[str], Reach]
"""Classifies an IP address; one that cannot be parsed is `special`."""


class Web:
    """Downloads files; `named` holds the hosts that the user typed."""

    def __init__(self, named: Collection[str], classify: ClassifyAddress) -> None:
        self._named = frozenset(named)
        self._classify = classify
        self._client: httpx2.AsyncClient

    async def __aenter__(self) -> Self:
        import httpx2

        # No proxies or credentials from the environment: the URL may be untrusted.
        # No connection reuse: two hosts may share an address, but not the certificate that was checked.
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
        """Download a URL; raise if it is missing or larger than `limit` bytes."""
        data = await self.find(url, limit=limit)
        if data is None:
            raise NotFound(f"there is nothing at `{one_line(url)[:200]}`", hint="check the address")
        return data

    async def find(self, url: str, *, limit: int) -> bytes | None:
        """Download a URL like `get`, but return None if it does not exist."""
        import httpx2

        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await self._get_following_redirects(url, limit)
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
            reason = str(error) or type(error).__name__
            raise ToolError(
                "unknown",
                f"`{one_line(url)[:200]}` cannot be downloaded: {one_line(reason)[:200]}",
                hint="try again later",
            ) from error

    async def _get_following_redirects(self, url: str, limit: int) -> bytes | None:
        for _ in range(MAX_REDIRECTS + 1):
            status, location, data = await self._get_once(url, limit)
            if status not in _REDIRECT_STATUSES:
                break
            url = urljoin(url, location)
        else:
            raise PolicyDenied(f"the address redirects more than {MAX_REDIRECTS} times", hint="use the final address")
        if status in _NOT_FOUND_STATUSES:
            return None
        if status != 200:
            raise ToolError("unknown", f"`{one_line(url)[:200]}` answered with status {status}", hint="try again later")
        return data

    async def _get_once(self, url: str, limit: int) -> tuple[int, str, bytes]:
        """Request a URL without following redirects, trying the host's addresses in turn."""
        import httpx2

        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        addresses = await check_host(host_of(url), self._named, self._classify, port)
        for number, address in enumerate(addresses, start=1):
            if parts.scheme == "http" and self._classify(address) == "public":
                raise PolicyDenied(f"`{one_line(url)[:200]}` is not encrypted", hint="use an address with https")
            try:
                return await self._get_from_address(url, address, limit)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if number == len(addresses):
                    raise
        raise NotFound(f"the host of `{one_line(url)[:200]}` has no address", hint="check its name")

    async def _get_from_address(self, url: str, address: str, limit: int) -> tuple[int, str, bytes]:
        parts, host = urlsplit(url), host_of(url)
        port = f":{parts.port}" if parts.port else ""
        target = parts._replace(netloc=f"{_bracket_ipv6(address)}{port}", fragment="").geturl()
        headers = {
            "Host": f"{_bracket_ipv6(host)}{port}",
            "Accept-Encoding": "identity",
            "User-Agent": "skills-runtime",
        }
        async with self._client.stream("GET", target, headers=headers, extensions={"sni_hostname": host}) as answer:
            pieces: list[bytes] = []
            size = 0
            async for piece in answer.aiter_raw():
                size += len(piece)
                if size > limit:
                    raise PolicyDenied(
                        f"`{one_line(url)[:200]}` has more than {limit} bytes", hint="nothing was stored"
                    )
                pieces.append(piece)
            return answer.status_code, answer.headers.get("location", ""), b"".join(pieces)


async def check_host(host: str, named: Collection[str], classify: ClassifyAddress, port: int = 443) -> list[str]:
    """Resolve a host; raise unless the user named it or all its addresses are public."""
    loop = asyncio.get_running_loop()
    try:
        entries = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotFound(f"the host `{one_line(host)[:200]}` cannot be found", hint="check its name") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    for address in addresses:
        reach = classify(address)
        if reach != "public" and (host not in named or reach == "metadata"):
            raise PolicyDenied(
                f"`{one_line(host)[:200]}` leads to {address}, which is not on the open internet",
                hint="name the address of a private site yourself, or allow it with `--allow-host`",
                details={"code": "SKILL_FETCH_PRIVATE_ADDRESS"},
            )
    return addresses


def host_of(url: str) -> str:
    """Return the host of an HTTP URL; raise for other URLs and for URLs with credentials."""
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username or parts.password:
        raise ValidationFailed(f"`{one_line(url)[:200]}` is no address to download from", hint="use one with https")
    return parts.hostname.rstrip(".").lower()


def _bracket_ipv6(host: str) -> str:
    return f"[{host}]" if ":" in host else host
