"""Everything a running service is made of, and how routes reach it from a request."""

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
    """What routes work with; it lives as long as the service."""

    settings: ServiceSettings
    resolved: Resolved
    """The configuration of the workspace."""
    token: str = field(repr=False)
    runs: RunService
    """The runs this service works on."""
    streams: Streams
    """Those who follow the events of runs."""
    keys: KeyFile
    audit: AuditLog
    metrics: Metrics
    stopping: asyncio.Event
    """Set when the service is told to stop: streams that never end by themselves end then."""


def state_of(request: Request) -> ServiceState:
    """What the service of a request is made of."""
    return request.app.state.service


def runs_of(request: Request) -> RunService:
    """The runs of the service of a request."""
    return request.app.state.runs


def streams_of(request: Request) -> Streams:
    """Those who follow the runs of the service of a request."""
    return request.app.state.streams


def caller_of(request: Request) -> Caller:
    """Who makes a request."""
    return getattr(request.state, "caller", ANONYMOUS)
