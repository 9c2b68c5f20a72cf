"""The network of a policy: which hosts it means, and the command line that waits for a proxy to them."""

from typing import Any

import msgspec

from skills_runtime.ports import Egress
from skills_runtime.sandbox.adapter import Adapter, Enclosed, Inner
from skills_runtime.sandbox.machine import Machine
from skills_runtime.sandbox.policy import SandboxPolicy
from skills_runtime.sandbox.promises import Gap, refusal
from skills_runtime.sandbox.survey import Findings


def egress_of(policy: SandboxPolicy, gaps: tuple[Gap, ...] = ()) -> Egress | None:
    """The hosts that the policy lets be reached; nothing where there is no proxy, be there a network or not."""
    if policy.network != "allow-list" or any(gap.promise == "network" for gap in gaps):
        return None
    return policy.egress


def enclose_with_network(
    adapter: Adapter, policy: SandboxPolicy, machine: Machine, findings: Findings, inner: Inner
) -> Enclosed:
    """The command behind the fence, which begins when it has handed its network out to a proxy."""
    from skills_runtime.sandbox.egress.stage import interpreter_for, stage_source, staged

    interpreter = interpreter_for(machine.interpreter)
    if interpreter is None:
        gap = Gap(promise="network", text="an allow-list needs a Python inside the sandbox", fix="install `python3`")
        raise refusal(adapter.name, (gap,))
    source = adapter.enclose(policy, machine, findings, inner).enclosure.next_descriptor
    argv = staged(inner.argv, interpreter, source=source)
    enclosed = adapter.enclose(policy, machine, findings, msgspec.structs.replace(inner, argv=argv))
    inputs = (*enclosed.enclosure.inputs, stage_source())
    enclosure = msgspec.structs.replace(enclosed.enclosure, inputs=inputs)
    return msgspec.structs.replace(enclosed, enclosure=enclosure)


def network_variables(egress: Egress | None) -> dict[str, str]:
    """The variables by which programs find the proxy; also the moment at which a rule that cannot be used is told."""
    if egress is None:
        return {}
    from skills_runtime.sandbox.egress.environment import proxy_variables
    from skills_runtime.sandbox.egress.stage import policy_of

    return proxy_variables(named={rule.host for rule in policy_of(egress).allow})


def network_evidence(egress: Egress | None) -> dict[str, Any]:
    """The list itself, for whoever reads a result or approves a call."""
    return {} if egress is None else {"egress": msgspec.json.decode(msgspec.json.encode(egress))}
