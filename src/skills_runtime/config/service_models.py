"""The settings of the HTTP service: where it listens, what it answers to, and how much it takes."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from skills_runtime.config.section import LAX, Count, FilePath, Positive, Seconds, Section

DAY_MS = 24 * 60 * 60 * 1000
_ADDRESS = re.compile(r"[A-Za-z0-9.-]+|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*")
_HOST_NAME = re.compile(r"\*|\.?[A-Za-z0-9_-][A-Za-z0-9_.-]*(:[0-9]{1,5})?|\[[0-9a-fA-F:.]+\](:[0-9]{1,5})?")


def is_host_name(value: str) -> bool:
    """Whether this can be the name in the `Host` of a request, with or without a port."""
    return _HOST_NAME.fullmatch(value) is not None


def _address(value: str) -> str:
    if not _ADDRESS.fullmatch(value):
        raise ValueError("must be an address such as `127.0.0.1` or `::1`")
    return value


def _host_name(value: str) -> str:
    if not is_host_name(value):
        raise ValueError("must be the name of a host such as `skills.example` or `skills.example:8080`")
    return value


Milliseconds = Annotated[int, Field(ge=1, le=DAY_MS)]
"""A span of at most a day."""


class ServiceLimits(Section):
    """How much the service takes from clients."""

    body_bytes: Annotated[int, Field(ge=1024)] = Field(
        default=2_621_440, description="A request that is longer is refused."
    )
    body_seconds: Annotated[float, Field(gt=0)] = Field(
        default=30.0, description="How long a client may take to send a request."
    )
    requests_per_second: Annotated[float, Field(ge=0.01)] = Field(
        default=500.0, description="Requests a second of one caller, in the long run."
    )
    burst: Positive = Field(default=2_000, description="How many requests one caller may make at once.")
    failures_per_minute: Positive = Field(
        default=30, description="How often one address may come with a wrong token or key."
    )
    concurrent: Positive = Field(default=16, description="Skills that are executed at the same time.")
    waiting: Count = Field(default=64, description="Executions that may wait; one more is refused.")


class ServiceExecutions(Section):
    """How long the executions of the service are kept."""

    keep_days: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="Executions that ended so many days ago are removed; `null` keeps them."
    )
    keep_bytes: Positive | None = Field(
        default=None, description="The oldest are removed until the rest takes no more; `null` keeps them."
    )


class ServiceSection(Section):
    """The HTTP service."""

    host: Annotated[str, AfterValidator(_address)] = Field(
        default="127.0.0.1", description="The address to listen on; beyond this machine, clients need a key."
    )
    port: Annotated[int, Field(ge=0, le=65_535)] = Field(
        default=8000, description="The port to listen on; 0 takes a free one."
    )
    allowed_hosts: Annotated[tuple[Annotated[str, AfterValidator(_host_name)], ...], LAX] = Field(
        default=(), description="Names under which it is reached besides those of this machine."
    )
    skill_service: Literal["open", "closed"] = Field(
        default="open", description="Whether programs of this machine may list and execute skills without a token."
    )
    skills_dir: FilePath | None = Field(
        default=None, description="The skills to execute; `null` means `skills` of the workspace, or the bundled ones."
    )
    artifacts_dir: FilePath | None = Field(
        default=None, description="Where executions are kept; `null` means `artifacts` of the workspace."
    )
    default_timeout_ms: Milliseconds = Field(
        default=10_000, description="How long an execution may take where neither the request nor the skill says."
    )
    max_timeout_ms: Milliseconds = Field(
        default=600_000, description="The longest time that a request or a skill may ask for."
    )
    grace_seconds: Seconds = Field(
        default=10.0, description="How long work may go on when the service is told to stop."
    )
    limits: ServiceLimits = Field(default_factory=ServiceLimits, description="How much it takes from clients.")
    executions: ServiceExecutions = Field(
        default_factory=ServiceExecutions, description="How long executions are kept."
    )
