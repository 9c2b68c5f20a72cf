"""Everything a running service is made of, held in one place that routes can reach."""

import asyncio
from dataclasses import dataclass, field

from fastapi import Request

from skills_runtime.config import Resolved
from skills_runtime.engine import RunService
from skills_runtime.executions.executor import Executor
from skills_runtime.service.access.keys import KeyFile
from skills_runtime.service.audit import AuditLog
from skills_runtime.service.metrics import Metrics
from skills_runtime.service.settings import ServiceSettings
from skills_runtime.service.skill_registry import SkillRegistry
from skills_runtime.service.streams import Streams


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What routes work with; it lives as long as the service."""

    settings: ServiceSettings
    resolved: Resolved
    """The configuration of the workspace."""
    token: str = field(repr=False)
    executor: Executor
    skills: SkillRegistry
    runs: RunService
    """The runs this service works on."""
    streams: Streams
    """Those who follow the events of runs."""
    keys: KeyFile
    audit: AuditLog
    metrics: Metrics
    stopping: asyncio.Event
    """Set when the service is told to stop: streams that never end by themselves end then."""


def parts_of(request: Request) -> Parts:
    """What the service of a request is made of."""
    return request.app.state.parts
