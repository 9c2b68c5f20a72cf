"""The authorizer as middleware: nothing behind it runs before a request is authorized.

Open event streams end when the caller's key is revoked.
"""

import asyncio
from collections.abc import Callable, Sequence
from http import HTTPStatus
from urllib.parse import parse_qsl, quote, urlencode

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skills_runtime.service.access.callers import ANONYMOUS, Caller, is_api
from skills_runtime.service.access.limits import RateLimiter, too_many_requests
from skills_runtime.service.access.peers import PEER
from skills_runtime.service.access.request_authorizer import RequestAuthorizer, RequestHead, cookie_name, token_of_query
from skills_runtime.service.problems import Problem, problem_response

CHECK_SECONDS = 2.0
"""Interval at which an open stream checks that its key is still valid."""
STREAM = b"text/event-stream"
HEALTH = frozenset({"/api/health", "/api/v1/health", "/livez", "/readyz"})
"""Polled by monitors; exempt from the rate limit."""


class RevocableStream:
    """Both directions of a connection; an event stream is ended when its caller is no longer valid."""

    def __init__(
        self, receive: Receive, send: Send, *, is_valid: Callable[[], bool], monotonic: Callable[[], float]
    ) -> None:
        self._receive = receive
        self._send = send
        self._valid = is_valid
        self._monotonic = monotonic
        self._checked_at = monotonic()
        self._is_stream = False
        self._has_ended = asyncio.Event()

    async def send(self, message: Message) -> None:
        """Pass on a message, or end the response instead."""
        if self._has_ended.is_set():
            return
        if message["type"] == "http.response.start":
            self._is_stream = any(
                name.lower() == b"content-type" and value.startswith(STREAM) for name, value in message["headers"]
            )
        elif self._is_stream and self._should_end():
            self._has_ended.set()
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)

    async def receive(self) -> Message:
        """Return the next message of the client; a disconnect if the response was ended."""
        if not self._is_stream:
            return await self._receive()
        reading, cut = asyncio.ensure_future(self._receive()), asyncio.ensure_future(self._has_ended.wait())
        try:
            await asyncio.wait({reading, cut}, return_when=asyncio.FIRST_COMPLETED)
            return reading.result() if reading.done() else {"type": "http.disconnect"}
        finally:
            for task in (reading, cut):
                task.cancel()

    def _should_end(self) -> bool:
        now = self._monotonic()
        if now - self._checked_at < CHECK_SECONDS:
            return False
        self._checked_at = now
        return not self._valid()


class AccessMiddleware:
    """Authorize every request; the caller is stored in `request.state.caller`."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        authorizer: RequestAuthorizer,
        rate: RateLimiter,
        failures: RateLimiter,
        routes: Callable[[], Sequence[BaseRoute]],
        monotonic: Callable[[], float],
    ) -> None:
        self._app = app
        self._authorizer = authorizer
        self._rate = rate
        self._failures = failures
        self._routes = routes
        self._monotonic = monotonic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on an authorized request, and refuse any other."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        head = build_head(scope)
        decision = self._authorize(head, scope)
        if isinstance(decision, Problem):
            await problem_response(head.path, decision)(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = decision
        if decision.kind == "key":
            stream = RevocableStream(receive, send, is_valid=lambda: self._is_valid(head), monotonic=self._monotonic)
            receive, send = stream.receive, stream.send
        redirect = _cookie_redirect(head, decision)
        await (redirect or self._app)(scope, receive, send)

    def _is_valid(self, head: RequestHead) -> bool:
        return isinstance(self._authorizer.authorize(head), Caller)

    def _authorize(self, head: RequestHead, scope: Scope) -> Caller | Problem:
        decision = self._authorizer.authorize(head)
        if isinstance(decision, Problem):
            return self._limit_failures(head, scope, decision)
        if head.path in HEALTH:
            return decision
        name = head.client if decision.kind == "nobody" else decision.name
        wait = self._rate.consume(name)
        return too_many_requests(wait) if wait else decision

    def _limit_failures(self, head: RequestHead, scope: Scope, problem: Problem) -> Caller | Problem:
        if problem.status != HTTPStatus.UNAUTHORIZED:
            return problem
        # Unknown paths are not protected: everyone gets "not found" or "method not allowed".
        if not self._has_route(scope):
            return ANONYMOUS
        wait = self._failures.consume(head.client)
        return too_many_requests(wait, "too many requests without a valid token or key") if wait else problem

    def _has_route(self, scope: Scope) -> bool:
        return any(route.matches(scope)[0] is Match.FULL for route in self._routes())


def build_head(scope: Scope) -> RequestHead:
    """Return the parts of a request that the authorizer needs."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    client, server = scope.get("client") or ("", 0), scope.get("server") or ("", 0)
    return RequestHead(
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"].decode("latin-1"),
        headers=headers,
        client=client[0],
        server=server[0],
        port=server[1] or 0,
        peer=scope.get("state", {}).get(PEER),
    )


def _cookie_redirect(head: RequestHead, caller: Caller) -> Response | None:
    """Redirect a link with a token to the same page without it, and set the token as a cookie."""
    token = token_of_query(head)
    if caller.kind != "token" or token is None or is_api(head.path):
        return None
    query = urlencode([(name, value) for name, value in parse_qsl(head.query) if name != "token"])
    # A path starting with two slashes would be taken for another host.
    path = "/" + quote(head.path.lstrip("/"))
    response = RedirectResponse(f"{path}?{query}" if query else path, status_code=303)
    response.set_cookie(cookie_name(head.port), token, httponly=True, samesite="strict", path="/")
    return response
