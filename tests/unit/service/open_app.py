"""The whole app without a server, for a caller on this machine who has the token."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from skills_runtime.config import resolve
from skills_runtime.service.app import create_app
from skills_runtime.service.bootstrap import open_service
from skills_runtime.service.settings import settings_from
from skills_runtime.service.state import ServiceState


class OpenApp:
    """The app, a client with the token, and what it is made of."""

    def __init__(self, state: ServiceState, client: httpx2.AsyncClient) -> None:
        self.state = state
        self.client = client

    def as_browser(self, **headers: str) -> httpx2.AsyncClient:
        """A client as a page is: with the cookie, and no token in a header."""
        return client_of(self.state, {"Cookie": f"skills-runtime-8000={self.state.token}", **headers})

    def with_key(self, *scopes: str) -> httpx2.AsyncClient:
        """A client with a key of its own."""
        _, secret = self.state.keys.create(f"k{len(self.state.keys.list())}", scopes)
        return client_of(self.state, {"Authorization": f"Bearer {secret}"})


@asynccontextmanager
async def open_app(workspace: Path, environ: dict[str, str] | None = None) -> AsyncGenerator[OpenApp]:
    """The app of a workspace."""
    settings = settings_from(workspace, workspace / "state", environ or {})
    async with (
        open_service(settings, resolve(workspace)) as state,
        client_of(state, {"Authorization": f"Bearer {state.token}"}) as client,
    ):
        yield OpenApp(state, client)


def client_of(state: ServiceState, headers: dict[str, str], app: Any = None) -> httpx2.AsyncClient:
    """A client of the app with these headers."""
    transport = httpx2.ASGITransport(app=app or create_app(state), client=("127.0.0.1", 5), raise_app_exceptions=False)
    return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", headers=headers)
