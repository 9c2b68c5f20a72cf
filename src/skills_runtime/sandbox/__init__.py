"""The fence around processes: a policy becomes a plan that can be printed, and a refusal where it cannot be kept."""

from skills_runtime.sandbox.from_settings import (
    NoFence,
    Unfenced,
    adapters_for,
    adapters_named,
    fence_for,
    own_directories,
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

__all__ = [
    "CAREFUL",
    "PROFILES",
    "Fence",
    "NoFence",
    "Profile",
    "ResourceLimits",
    "SandboxPolicy",
    "Unfenced",
    "adapters_for",
    "adapters_named",
    "fence_for",
    "own_directories",
    "policy_for",
    "profile_named",
]
