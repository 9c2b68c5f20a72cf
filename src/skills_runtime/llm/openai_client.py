"""The client and the event stream of the `openai` package, without its retries and with an end to every line."""

import re
import ssl
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import httpx2
import openai
from openai import AsyncOpenAI, AsyncStream, DefaultAsyncHttpxClient
from openai._streaming import ServerSentEvent, SSEDecoder

from skills_runtime.config import process_environ
from skills_runtime.errors import ConfigError, ModelError
from skills_runtime.llm.failures import LONGEST_READ, shorten

OPENAI = "api.openai.com"
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
VARIABLES = "check the variables `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `SSL_CERT_FILE`"


class ServiceClient(AsyncOpenAI):
    """Asks one service, once for every request: who tries again says so elsewhere."""

    def __init__(self, *, base_url: str, api_key: str, timeout_sec: float) -> None:
        address = urlsplit(base_url)
        super().__init__(
            base_url=urlunsplit((*address[:3], "", "")),
            default_query=dict(parse_qsl(address.query, keep_blank_values=True)),  # else the path would be added to it
            api_key=api_key,
            timeout=timeout_sec,
            max_retries=0,
            http_client=_connections(),
        )
        if self.base_url.host != OPENAI:
            # The package takes these from the environment, and they are nobody else's business.
            self.organization = self.project = None
            self._custom_headers = {}

    @property
    def user_agent(self) -> str:
        """As the package says it: there are services that let in only what they know."""
        return f"{AsyncOpenAI.__name__}/Python {openai.__version__}"


def _connections() -> DefaultAsyncHttpxClient:
    """An empty pool; what the environment says of proxies and certificates is taken in here, and may be no use."""
    try:
        return DefaultAsyncHttpxClient(verify=_load_certificates(*map(process_environ().get, CERTIFICATES)))
    except httpx2.InvalidURL:
        reason = "the address of a proxy is none"  # without its own words: there may be a password in the address
    except (ImportError, ValueError, OSError) as error:
        reason = shorten(str(error))
    raise ConfigError(f"no connection to the model can be opened: {reason}", hint=VARIABLES)


@lru_cache(maxsize=1)
def _load_certificates(*_places: str | None) -> ssl.SSLContext:
    """Read the certificates that the environment names, once: it takes longer than most requests to a near service."""
    return httpx2.create_ssl_context()


MOST_BYTES = 64 << 20
"""What may come until an event is complete."""
_FIELD = re.compile("(?:data|event|id|retry)?(?::|$)")


class EventStream(AsyncStream[object]):
    """The chunks of one response."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._decoder = self._events = _Events()

    @property
    def besides(self) -> str:
        """The beginning of what came instead of events, where none came."""
        return "" if self._events.come else self._events.besides


class _Events(SSEDecoder):
    """Passes over what is no event: a mark of the byte order at the beginning, and fields without data."""

    def __init__(self) -> None:
        super().__init__()
        self.besides = ""
        self.come = self._begun = False
        self._bytes = 0

    async def aiter_bytes(self, iterator: AsyncIterator[bytes]) -> AsyncIterator[ServerSentEvent]:
        """The events in these bytes."""
        async for event in super().aiter_bytes(self._bounded(iterator)):
            self._bytes = 0
            yield event

    def decode(self, line: str) -> ServerSentEvent | None:
        """Take in a line; some lines complete an event."""
        line = line if self._begun else line.removeprefix("\ufeff")
        self._begun = True
        if not self.come and len(self.besides) < LONGEST_READ and not _FIELD.match(line):
            self.besides += f"{line[:LONGEST_READ]}\n"
        event = super().decode(line)
        if event is None or not event.data:
            return None
        self.come = True
        return event

    async def _bounded(self, iterator: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for piece in iterator:
            self._bytes += len(piece)
            if self._bytes > MOST_BYTES:
                raise ModelError("the model's provider sent a chunk that does not end")
            yield piece
