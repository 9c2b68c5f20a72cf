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
from skills_runtime.llm.failures import MAX_EXPLANATION_CHARS, shorten

OPENAI = "api.openai.com"
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
VARIABLES_HINT = "check the variables `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `SSL_CERT_FILE`"


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
            http_client=_build_http_client(),
        )
        if self.base_url.host != OPENAI:
            # The package takes these from the environment, and they are nobody else's business.
            self.organization = self.project = None
            self._custom_headers = {}

    @property
    def user_agent(self) -> str:
        """As the package says it: there are services that let in only what they know."""
        return f"{AsyncOpenAI.__name__}/Python {openai.__version__}"


def _build_http_client() -> DefaultAsyncHttpxClient:
    """An empty pool; what the environment says of proxies and certificates is taken in here, and may be no use."""
    try:
        return DefaultAsyncHttpxClient(verify=_load_certificates(*map(process_environ().get, CERTIFICATES)))
    except httpx2.InvalidURL:
        reason = "the address of a proxy is none"  # without its own words: there may be a password in the address
    except (ImportError, ValueError, OSError) as error:
        reason = shorten(str(error))
    raise ConfigError(f"no connection to the model can be opened: {reason}", hint=VARIABLES_HINT)


@lru_cache(maxsize=1)
def _load_certificates(*_paths: str | None) -> ssl.SSLContext:
    """Read the certificates that the environment names, once: it takes longer than most requests to a near service."""
    return httpx2.create_ssl_context()


MAX_EVENT_BYTES = 64 << 20
"""What may come until an event is complete."""
_FIELD = re.compile("(?:data|event|id|retry)?(?::|$)")


class EventStream(AsyncStream[object]):
    """The chunks of one response."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._decoder = self._events = _Events()

    @property
    def unexpected_text(self) -> str:
        """The beginning of what came instead of events, where none came."""
        return "" if self._events.has_events else self._events.unexpected_text


class _Events(SSEDecoder):
    """Passes over what is no event: a mark of the byte order at the beginning, and fields without data."""

    def __init__(self) -> None:
        super().__init__()
        self.unexpected_text = ""
        self.has_events = self._has_started = False
        self._bytes = 0

    async def aiter_bytes(self, iterator: AsyncIterator[bytes]) -> AsyncIterator[ServerSentEvent]:
        """The events in these bytes."""
        async for event in super().aiter_bytes(self._limit_bytes(iterator)):
            self._bytes = 0
            yield event

    def decode(self, line: str) -> ServerSentEvent | None:
        """Take in a line; some lines complete an event."""
        line = line if self._has_started else line.removeprefix("\ufeff")
        self._has_started = True
        if not self.has_events and len(self.unexpected_text) < MAX_EXPLANATION_CHARS and not _FIELD.match(line):
            self.unexpected_text += f"{line[:MAX_EXPLANATION_CHARS]}\n"
        event = super().decode(line)
        if event is None or not event.data:
            return None
        self.has_events = True
        return event

    async def _limit_bytes(self, iterator: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for piece in iterator:
            self._bytes += len(piece)
            if self._bytes > MAX_EVENT_BYTES:
                raise ModelError("the model's provider sent a chunk that does not end")
            yield piece
