"""Answers in JSON, and who and what a request is about."""

from typing import Any

import msgspec
from fastapi import Request
from starlette.responses import Response

from skills_runtime.engine import RunService
from skills_runtime.ports import InboxMessage
from skills_runtime.service.access.caller import NOBODY, Caller
from skills_runtime.service.streams import Streams


def runs_of(request: Request) -> RunService:
    """The runs of the service of a request."""
    return request.app.state.runs


def streams_of(request: Request) -> Streams:
    """Those who follow the runs of the service of a request."""
    return request.app.state.streams


def caller_of(request: Request) -> Caller:
    """Who makes a request."""
    return getattr(request.state, "caller", NOBODY)


def receipt(message: InboxMessage) -> Response:
    """A message that is kept until the run has read it."""
    told = {"message_id": message.id, "run_id": message.run_id, "kind": message.kind, "position": message.position}
    return as_json(told, 202)


def as_json(value: Any, status: int = 200) -> Response:
    """A value as it is, in JSON."""
    return Response(msgspec.json.encode(value), status_code=status, media_type="application/json")
