"""The only way out of a sandbox: an allow-list proxy that decides, checks and records every connection.

Read `policy.decide` first, then `checkpoint.Checkpoint.pass_through`, which every request goes through.
"""

from skills_runtime.sandbox.egress.account import Account
from skills_runtime.sandbox.egress.addresses import is_public
from skills_runtime.sandbox.egress.environment import proxy_variables
from skills_runtime.sandbox.egress.gateway import Doorman, Gateway
from skills_runtime.sandbox.egress.handover import PROXY_PORT, Handover
from skills_runtime.sandbox.egress.hosts import Host, canonical_host
from skills_runtime.sandbox.egress.policy import (
    EgressPolicy,
    Rule,
    Verdict,
    allow_rule,
    decide,
    deny_rule,
    egress_policy,
)
from skills_runtime.sandbox.egress.proxy import egress_proxy, serve_egress
from skills_runtime.sandbox.egress.record import EgressLimits, EgressPorts, EgressRecord
from skills_runtime.sandbox.egress.values import Refused

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
    "decide",
    "deny_rule",
    "egress_policy",
    "egress_proxy",
    "is_public",
    "proxy_variables",
    "serve_egress",
]
