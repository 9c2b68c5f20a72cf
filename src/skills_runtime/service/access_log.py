"""The outermost middleware: assign request ids, and report each request to the access log, metrics and audit log."""

import json
import logging
import time
from http import HTTPStatus
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.service.access.callers import ANONYMOUS, READ_METHODS, Caller
from skills_runtime.service.audit import AuditEntry, AuditLog
from skills_runtime.service.metrics import Metrics

ACCESS_LOG = logging.getLogger("skills_runtime.service.access")
REFUSALS = (401, 403)
SAFE_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class AccessLogMiddleware:
    """Record every request; it is the first to see a request and the last to see the response."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, audit: AuditLog) -> None:
        self._app = app
        self._metrics = metrics
        self._audit = audit
        self._clock = SystemClock()
        self._ids = RandomIds()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request and record its outcome."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        response = _ResponseRecorder(send, self._ids.new("req"))
        scope.setdefault("state", {})["request_id"] = response.request_id
        started = time.perf_counter()
        self._metrics.start_request()
        try:
            await self._app(scope, receive, response.send)
        finally:
            self._report(scope, response, time.perf_counter() - started)

    def _report(self, scope: Scope, response: "_ResponseRecorder", seconds: float) -> None:
        caller: Caller = scope["state"].get("caller", ANONYMOUS)
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"].isalpha() and len(scope["method"]) < 10 else "OTHER"
        self._metrics.finish_request(method, route, response.status, seconds)
        now, client = self._clock.now(), (scope.get("client") or ("",))[0]
        entry: dict[str, Any] = {
            "time": now,
            "request_id": response.request_id,
            "client": client,
            "who": caller.name,
            "method": method,
            "path": scope["path"][:1000],  # never the query: it may contain the token
            "status": response.status,
            "bytes": response.size,
            "duration_ms": round(seconds * 1000, 3),
        }
        ACCESS_LOG.info("%s", json.dumps(entry))
        refused = response.status in REFUSALS
        if refused or (method not in READ_METHODS and response.status < HTTPStatus.BAD_REQUEST):
            self._audit.add(
                AuditEntry(
                    time=now,
                    what="refused" if refused else "request",
                    who=caller.name,
                    client=client,
                    request_id=response.request_id,
                    method=method,
                    path=entry["path"],
                    status=response.status,
                )
            )


class _ResponseRecorder:
    """Records status and size of a response; one that never started counts as 500."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self.request_id = request_id
        self.status = 500
        self.size = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers_set = list(message.get("headers", ()))
            names = {name.lower() for name, _ in headers_set}
            defaults = (*SAFE_HEADERS, (b"cache-control", b"no-store"))
            headers = [*headers_set, *(header for header in defaults if header[0] not in names)]
            headers.append((b"x-request-id", self.request_id.encode()))
            message = {**message, "headers": headers}
        elif message["type"] == "http.response.body":
            self.size += len(message.get("body", b""))
        await self._send(message)
