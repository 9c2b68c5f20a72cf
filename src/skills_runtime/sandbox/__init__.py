"""The fence around processes: a policy becomes a plan that can be printed, and a refusal where it cannot be kept."""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names
from skills_runtime.sandbox.from_settings import (
    NoFence,
    Unfenced,
    adapters_for,
    adapters_named,
    fence_for,
    load_runtime_code,
    own_directories,
    runtime_code,
)
from skills_runtime.sandbox.planner import Fence
from skills_runtime.sandbox.policy import (
    CAREFUL,
    PROFILES,
    Profile,
    ResourceLimits,
    SandboxPolicy,
    policy_for,
    profile_named,
)

if TYPE_CHECKING:
    from skills_runtime.sandbox.adapter import Capabilities, Enclosed
    from skills_runtime.sandbox.denials import Denial, ProcessOutcome
    from skills_runtime.sandbox.grants import combine_grants, control_directories, is_secret, why_not_path
    from skills_runtime.sandbox.policy import PROMISES, Gap, promise_named
    from skills_runtime.sandbox.quarantine import Recorded, accept, items, quarantine_report, record, settle

__getattr__ = lazy_names(
    __name__,
    {
        "adapter": "Capabilities Enclosed",
        "denials": "Denial ProcessOutcome",
        "grants": "combine_grants control_directories is_secret why_not_path",
        "policy": "Gap PROMISES promise_named",
        "quarantine": "Recorded accept items quarantine_report record settle",
    },
)

__all__ = [
    "CAREFUL",
    "PROFILES",
    "PROMISES",
    "Capabilities",
    "Denial",
    "Enclosed",
    "Fence",
    "Gap",
    "NoFence",
    "ProcessOutcome",
    "Profile",
    "Recorded",
    "ResourceLimits",
    "SandboxPolicy",
    "Unfenced",
    "accept",
    "adapters_for",
    "adapters_named",
    "combine_grants",
    "control_directories",
    "fence_for",
    "is_secret",
    "items",
    "load_runtime_code",
    "own_directories",
    "policy_for",
    "profile_named",
    "promise_named",
    "quarantine_report",
    "record",
    "runtime_code",
    "settle",
    "why_not_path",
]
