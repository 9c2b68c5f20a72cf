"""The settings of the network: which hosts a process behind the fence may reach."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from skills_runtime.config.section import LAX, Section

_RULE = re.compile(
    r"(\*{1,2}\.)?"  # the names below it; those and itself
    r"(\[[0-9a-fA-F:.]+\]|[^\s\[\]/:@*\\%?#]+)"
    r"(:(\*|[0-9]{1,5}(,[0-9]{1,5})*))?"
)


def _host_rule(value: str) -> str:
    if not value.isprintable() or not _RULE.fullmatch(value):
        raise ValueError("must be a host such as `example.com`, `*.example.com` or `example.com:8443`")
    return value


HostRule = Annotated[str, AfterValidator(_host_rule)]
"""A host with what may stand before it and behind it; whether it is a real one is seen when a process starts."""
HostRules = Annotated[tuple[HostRule, ...], LAX]


class EgressSettings(Section):
    """The network of processes: nothing but these hosts, through a proxy that records every decision."""

    allow: HostRules = Field(
        default=(),
        description="Hosts that processes may reach: `example.com`, `*.example.com` (below it), `**.example.com`"
        " (both), with `:port` if it is not 80 or 443.",
    )
    allow_private: HostRules = Field(
        default=(), description="The same for hosts that lie in a private network, such as that of your company."
    )
    deny: HostRules = Field(default=(), description="Hosts that are never reached, whatever else allows them.")
    unknown: Literal["deny", "ask"] = Field(
        default="deny", description="Whether a host that no rule names is refused or asked about."
    )
