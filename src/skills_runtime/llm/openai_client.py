"""Client and event stream on top of the `openai` package: without its retries, and with a limit on event size."""

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
    """Client for one provider without retries: `RetryingBackend` retries and records it."""

    def __init__(self, *, base_url: str, api_key: str, timeout_sec: float) -> None:
        address = urlsplit(base_url)
        super().__init__(
            base_url=urlunsplit((*address[:3], "", "")),
            default_query=dict(
                parse_qsl(address.query, keep_blank_values=True)
            ),  # the package would append the path to the query otherwise
            api_key=api_key or "none",  # never sent; the package would look for one in the environment
            timeout=timeout_sec,
            max_retries=0,
            http_client=build_http_client(),
        )
        if self.base_url.host != OPENAI:
            # The package reads these from the environment; only OpenAI itself may receive them.
            self.organization = self.project = None
            self._custom_headers = {}

    @property
    def user_agent(self) -> str:
        """User agent of the original client: some providers accept only clients they know."""
        return f"{AsyncOpenAI.__name__}/Python {openai.__version__}"


def build_http_client() -> DefaultAsyncHttpxClient:
    """Create an HTTP client; proxies and certificates come from the environment and may be invalid."""
    try:
        return DefaultAsyncHttpxClient(verify=_load_certificates(*map(process_environ().get, CERTIFICATES)))
    except httpx2.InvalidURL:
        reason = "the address of a proxy is invalid"  # not the original message: the proxy URL may contain a password
    except (ImportError, ValueError, OSError) as error:
        reason = shorten(str(error))
    raise ConfigError(f"no connection to the model can be opened: {reason}", hint=VARIABLES_HINT)


@lru_cache(maxsize=1)
def _load_certificates(*_paths: str | None) -> ssl.SSLContext:
    """Load the certificates that the environment names, once: this takes longer than most requests."""
    return httpx2.create_ssl_context()


MAX_EVENT_BYTES = 64 << 20
"""Maximum size of one event."""
_FIELD = re.compile("(?:data|event|id|retry)?(?::|$)")


class EventStream(AsyncStream[object]):
    """The chunks of one response."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._decoder = self._events = _Events()

    @property
    def unexpected_text(self) -> str:
        """Start of the body if it contained no events."""
        return "" if self._events.has_events else self._events.unexpected_text


class _Events(SSEDecoder):
    """SSE decoder that skips a byte order mark and events without data, and collects text that is not SSE."""

    def __init__(self) -> None:
        super().__init__()
        self.unexpected_text = ""
        self.has_events = self._has_started = False
        self._bytes = 0

    async def aiter_bytes(self, iterator: AsyncIterator[bytes]) -> AsyncIterator[ServerSentEvent]:
        """Yield the events in a byte stream of bounded size."""
        async for event in super().aiter_bytes(self._limit_bytes(iterator)):
            self._bytes = 0
            yield event

    def decode(self, line: str) -> ServerSentEvent | None:
        """Process one line; return the event it completes, if any."""
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
                raise ModelError("the model's provider sent a chunk that is too long")
            yield piece
