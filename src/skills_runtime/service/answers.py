"""Answers in JSON, and who and what a request is about."""

from typing import Any

import msgspec
from fastapi import Request
from starlette.responses import Response

from skills_runtime.service.access.caller import NOBODY, Caller
from skills_runtime.service.work import Work


def work_of(request: Request) -> Work:
    """The runs of the service of a request."""
    return request.app.state.work


def caller_of(request: Request) -> Caller:
    """Who makes a request."""
    return getattr(request.state, "caller", NOBODY)


def as_json(value: Any, status: int = 200) -> Response:
    """A value as it is, in JSON."""
    return Response(msgspec.json.encode(value), status_code=status, media_type="application/json")
