"""Isolate processes: turn a policy into a printable plan, or refuse when no adapter can enforce it."""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names
from skills_runtime.sandbox.from_settings import (
    NoSandbox,
    UnavailableSandbox,
    adapters_from_settings,
    build_sandbox,
    find_adapters,
    is_containing,
    load_runtime_code,
    own_directories,
    runtime_code,
)
from skills_runtime.sandbox.planner import OsSandbox
from skills_runtime.sandbox.policy import (
    CAREFUL,
    PROFILES,
    Profile,
    ResourceLimits,
    SandboxPolicy,
    build_policy,
    parse_profile,
)

if TYPE_CHECKING:
    from skills_runtime.sandbox.adapter import Capabilities, SandboxedCommand
    from skills_runtime.sandbox.denials import Denial, ProcessOutcome
    from skills_runtime.sandbox.grants import combine_grants, control_directories, is_secret, why_not_path
    from skills_runtime.sandbox.policy import PROMISES, Gap, parse_promise
    from skills_runtime.sandbox.quarantine import (
        CommandRecord,
        accept,
        finish_record,
        list_items,
        quarantine_report,
        record_command,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "adapter": "Capabilities SandboxedCommand",
        "denials": "Denial ProcessOutcome",
        "grants": "combine_grants control_directories is_secret why_not_path",
        "policy": "Gap PROMISES parse_promise",
        "quarantine": "CommandRecord accept finish_record list_items quarantine_report record_command",
    },
)

__all__ = [
    "CAREFUL",
    "PROFILES",
    "PROMISES",
    "Capabilities",
    "CommandRecord",
    "Denial",
    "Gap",
    "NoSandbox",
    "OsSandbox",
    "ProcessOutcome",
    "Profile",
    "ResourceLimits",
    "SandboxPolicy",
    "SandboxedCommand",
    "UnavailableSandbox",
    "accept",
    "adapters_from_settings",
    "build_policy",
    "build_sandbox",
    "combine_grants",
    "control_directories",
    "find_adapters",
    "finish_record",
    "is_containing",
    "is_secret",
    "list_items",
    "load_runtime_code",
    "own_directories",
    "parse_profile",
    "parse_promise",
    "quarantine_report",
    "record_command",
    "runtime_code",
    "why_not_path",
]
