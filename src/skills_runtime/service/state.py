"""The state of a running service, and accessors for routes."""

import asyncio
from dataclasses import dataclass, field

from fastapi import Request

from skills_runtime.config import Resolved
from skills_runtime.engine import RunService
from skills_runtime.service.access.callers import ANONYMOUS, Caller
from skills_runtime.service.access.keys import KeyFile
from skills_runtime.service.audit import AuditLog
from skills_runtime.service.metrics import Metrics
from skills_runtime.service.settings import ServiceSettings
from skills_runtime.service.streams import Streams


@dataclass(frozen=True, kw_only=True)
class ServiceState:
    """Everything routes work with; it lives as long as the service."""

    settings: ServiceSettings
    resolved: Resolved
    """The configuration of the workspace."""
    token: str = field(repr=False)
    runs: RunService
    """The runs of this service."""
    streams: Streams
    """The event streams of runs."""
    keys: KeyFile
    audit: AuditLog
    metrics: Metrics
    stopping: asyncio.Event
    """Set when the service is asked to stop; endless streams then end."""


def state_of(request: Request) -> ServiceState:
    """Return the state of the service that handles a request."""
    return request.app.state.service


def runs_of(request: Request) -> RunService:
    """Return the runs of the service that handles a request."""
    return request.app.state.runs


def streams_of(request: Request) -> Streams:
    """Return the event streams of the service that handles a request."""
    return request.app.state.streams


def caller_of(request: Request) -> Caller:
    """Return the caller of a request."""
    return getattr(request.state, "caller", ANONYMOUS)
