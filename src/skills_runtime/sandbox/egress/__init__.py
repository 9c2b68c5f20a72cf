"""The only way out of a sandbox: an allow-list proxy that decides, checks and records every connection.

Read `rules.decide` first, then `authorizer.EgressAuthorizer.pass_through`, which every request goes through.
"""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names
from skills_runtime.sandbox.egress.gateway import PROXY_PORT, Doorman, Gateway, Handover, proxy_variables
from skills_runtime.sandbox.egress.proxy import egress_proxy, serve_egress
from skills_runtime.sandbox.egress.records import Account, EgressLimits, EgressPorts, EgressRecord
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
    from skills_runtime.sandbox.egress.rules import parse_address, reach_of

__getattr__ = lazy_names(
    __name__,
    {
        "gateway": "compile_egress",
        "rules": "parse_address reach_of",
    },
)

__all__ = [
    "PROXY_PORT",
    "Account",
    "Doorman",
    "EgressLimits",
    "EgressPolicy",
    "EgressPorts",
    "EgressRecord",
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
    "is_public",
    "parse_address",
    "proxy_variables",
    "reach_of",
    "serve_egress",
]
