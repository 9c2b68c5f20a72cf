"""The client of one service: that of the `openai` package, which this imports, told less by the environment."""

from urllib.parse import parse_qsl, urlsplit, urlunsplit

import httpx2
import openai
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from skills_runtime.errors import ConfigError
from skills_runtime.llm.text import one_line

OPENAI = "api.openai.com"
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
        return DefaultAsyncHttpxClient()
    except httpx2.InvalidURL:
        reason = "the address of a proxy is none"  # without its own words: there may be a password in the address
    except (ImportError, ValueError, OSError) as error:
        reason = one_line(str(error))
    raise ConfigError(f"no connection to the model can be opened: {reason}", hint=VARIABLES)
