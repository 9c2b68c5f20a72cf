"""The five profiles, as policies for a workspace."""

from pathlib import Path
from typing import get_args

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.sandbox.policy import GIBIBYTE, Profile, ResourceLimits, SandboxPolicy

PROFILES: tuple[Profile, ...] = get_args(Profile)
DEFAULT_PROFILE: Profile = "workspace-write"

DESCRIPTIONS: dict[Profile, str] = {
    "read-only": "the workspace can be read, and only `/tmp` written",
    "workspace-write": "the workspace can be written, save what is protected in it; no network",
    "workspace-net": "as workspace-write, with the hosts on an allow-list",
    "build": "as workspace-write, with more memory, time and room",
    "danger": "no fence; only the environment is clean",
}

BUILD_LIMITS = ResourceLimits(
    memory_bytes=16 * GIBIBYTE,
    processes=4096,
    file_bytes=None,
    open_files=65536,
    temporary_bytes=8 * GIBIBYTE,
    shared_memory_bytes=2 * GIBIBYTE,
    disk_bytes=64 * GIBIBYTE,
    disk_files=5_000_000,
)


def profile_named(name: str) -> Profile:
    """The profile with this name; `restricted` is the old name of the default one."""
    for known in PROFILES:
        if name == known or (name == "restricted" and known == DEFAULT_PROFILE):
            return known
    raise ValidationFailed(f"there is no profile `{name!a}`", hint=f"profiles: {', '.join(PROFILES)}")


def policy_for(profile: Profile, workspace: Path, limits: ResourceLimits | None = None) -> SandboxPolicy:
    """The policy that a profile means for a workspace."""
    policy = SandboxPolicy(profile=profile, workspace=workspace, limits=limits or ResourceLimits())
    match profile:
        case "read-only":
            return msgspec.structs.replace(policy, access="read")
        case "workspace-net":
            return msgspec.structs.replace(policy, network="allow-list")
        case "build":
            return msgspec.structs.replace(policy, limits=limits or BUILD_LIMITS)
        case "danger":
            return msgspec.structs.replace(policy, network="host", required=frozenset())
        case "workspace-write":
            return policy
