"""The allow-list proxy, the only way out of a sandbox: it checks and records every connection.

Start reading at `rules.decide`, then `authorizer.EgressAuthorizer.authorize`, which every request goes through.
"""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names
from skills_runtime.sandbox.egress.gateway import PROXY_PORT, EgressCallbacks, Gateway, Handover, proxy_variables
from skills_runtime.sandbox.egress.proxy import egress_proxy, serve_egress
from skills_runtime.sandbox.egress.records import EgressLimits, EgressPorts, EgressRecord, EgressUsage
from skills_runtime.sandbox.egress.rules import (
    EgressPolicy,
    Host,
    Refused,
    Rule,
    Verdict,
    allow_rule,
    canonical_host,
    decide,
    deny_rule,
    egress_policy,
    is_public,
)

if TYPE_CHECKING:
    from skills_runtime.sandbox.egress.gateway import compile_egress
    from skills_runtime.sandbox.egress.rules import find_reach, parse_address

__getattr__ = lazy_names(
    __name__,
    {
        "gateway": "compile_egress",
        "rules": "parse_address find_reach",
    },
)

__all__ = [
    "PROXY_PORT",
    "EgressCallbacks",
    "EgressLimits",
    "EgressPolicy",
    "EgressPorts",
    "EgressRecord",
    "EgressUsage",
    "Gateway",
    "Handover",
    "Host",
    "Refused",
    "Rule",
    "Verdict",
    "allow_rule",
    "canonical_host",
    "compile_egress",
    "decide",
    "deny_rule",
    "egress_policy",
    "egress_proxy",
    "find_reach",
    "is_public",
    "parse_address",
    "proxy_variables",
    "serve_egress",
]
