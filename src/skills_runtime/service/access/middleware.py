"""The authorizer as a middleware: nothing behind it runs before a request was decided on.

A stream ends when the key of whoever listens to it is revoked.
"""

import asyncio
from collections.abc import Callable, Sequence
from http import HTTPStatus
from urllib.parse import parse_qsl, quote, urlencode

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skills_runtime.service.access.callers import NOBODY, Caller, is_api
from skills_runtime.service.access.limits import Rate, too_many
from skills_runtime.service.access.peers import PEER
from skills_runtime.service.access.request_authorizer import Asked, RequestAuthorizer, cookie_name, token_of_query
from skills_runtime.service.problems import Problem, answer

LOOK_SECONDS = 2.0
"""How long a stream may go on after a key was revoked, at most; one that says nothing ends before its next word."""
STREAM = b"text/event-stream"
HEALTH = frozenset({"/api/health", "/api/v1/health", "/livez", "/readyz"})
"""Asked for all the time by whoever watches the service; never refused for coming too often."""


class RevocableStream:
    """The two ends of a connection, for as long as its caller is valid; only streams of events are looked after."""

    def __init__(
        self, receive: Receive, send: Send, *, valid: Callable[[], bool], monotonic: Callable[[], float]
    ) -> None:
        self._receive = receive
        self._send = send
        self._valid = valid
        self._monotonic = monotonic
        self._looked = monotonic()
        self._streams = False
        self._cut = asyncio.Event()

    async def send(self, message: Message) -> None:
        """Pass on a piece, or end the answer in its place."""
        if self._cut.is_set():
            return
        if message["type"] == "http.response.start":
            self._streams = any(
                name.lower() == b"content-type" and value.startswith(STREAM) for name, value in message["headers"]
            )
        elif self._streams and self._is_over():
            self._cut.set()
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)

    async def receive(self) -> Message:
        """The next word of the client, who counts as gone when the answer was ended."""
        if not self._streams:
            return await self._receive()
        hearing, cut = asyncio.ensure_future(self._receive()), asyncio.ensure_future(self._cut.wait())
        try:
            await asyncio.wait({hearing, cut}, return_when=asyncio.FIRST_COMPLETED)
            return hearing.result() if hearing.done() else {"type": "http.disconnect"}
        finally:
            for task in (hearing, cut):
                task.cancel()

    def _is_over(self) -> bool:
        now = self._monotonic()
        if now - self._looked < LOOK_SECONDS:
            return False
        self._looked = now
        return not self._valid()


class AccessMiddleware:
    """Judges every request; the caller stands in `request.state.caller` for whoever comes next."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        gate: RequestAuthorizer,
        rate: Rate,
        failures: Rate,
        routes: Callable[[], Sequence[BaseRoute]],
        monotonic: Callable[[], float],
    ) -> None:
        self._app = app
        self._gate = gate
        self._rate = rate
        self._failures = failures
        self._routes = routes
        self._monotonic = monotonic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that is allowed, and refuse any other."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        asked = asked_of(scope)
        judged = self._judged(asked, scope)
        if isinstance(judged, Problem):
            await answer(asked.path, judged)(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = judged
        if judged.kind == "key":
            lasting = RevocableStream(receive, send, valid=lambda: self._is_valid(asked), monotonic=self._monotonic)
            receive, send = lasting.receive, lasting.send
        landing = _landing(asked, judged)
        await (landing or self._app)(scope, receive, send)

    def _is_valid(self, asked: Asked) -> bool:
        return isinstance(self._gate.judge(asked), Caller)

    def _judged(self, asked: Asked, scope: Scope) -> Caller | Problem:
        judged = self._gate.judge(asked)
        if isinstance(judged, Problem):
            return self._refused(asked, scope, judged)
        if asked.path in HEALTH:
            return judged
        who = asked.client if judged.kind == "nobody" else judged.name
        wait = self._rate.wait_for(who)
        return too_many(wait) if wait else judged

    def _refused(self, asked: Asked, scope: Scope, problem: Problem) -> Caller | Problem:
        if problem.status != HTTPStatus.UNAUTHORIZED:
            return problem
        # What does not exist is not protected: the answer is "not found" or "not this method", for everybody.
        if not self._leads_somewhere(scope):
            return NOBODY
        wait = self._failures.wait_for(asked.client)
        return too_many(wait, "too many requests without a valid token or key") if wait else problem

    def _leads_somewhere(self, scope: Scope) -> bool:
        return any(route.matches(scope)[0] is Match.FULL for route in self._routes())


def asked_of(scope: Scope) -> Asked:
    """A request as the gate sees it."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    client, server = scope.get("client") or ("", 0), scope.get("server") or ("", 0)
    return Asked(
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"].decode("latin-1"),
        headers=headers,
        client=client[0],
        server=server[0],
        port=server[1] or 0,
        peer=scope.get("state", {}).get(PEER),
    )


def _landing(asked: Asked, caller: Caller) -> Response | None:
    """Whoever opens the printed link gets a cookie, and a page whose address does not have the token."""
    token = token_of_query(asked)
    if caller.kind != "token" or token is None or is_api(asked.path):
        return None
    rest = urlencode([(name, value) for name, value in parse_qsl(asked.query) if name != "token"])
    # Two slashes at the beginning would be another host.
    path = "/" + quote(asked.path.lstrip("/"))
    response = RedirectResponse(f"{path}?{rest}" if rest else path, status_code=303)
    response.set_cookie(cookie_name(asked.port), token, httponly=True, samesite="strict", path="/")
    return response
