"""The fence around processes: a policy becomes a plan that can be printed, and a refusal where it cannot be kept."""

from skills_runtime.sandbox.choosing import adapters_for, adapters_named, fence_for, own_directories
from skills_runtime.sandbox.fence import Fence
from skills_runtime.sandbox.no_fence import NoFence
from skills_runtime.sandbox.policy import CAREFUL, Profile, ResourceLimits, SandboxPolicy
from skills_runtime.sandbox.profiles import PROFILES, policy_for, profile_named
from skills_runtime.sandbox.unfenced import Unfenced

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
