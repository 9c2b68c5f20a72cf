"""From settings to the sandbox of a run: by adapters, none by the user's own choice, or a refusal of every command."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.errors import SandboxError, ValidationFailed
from skills_runtime.ports import Egress, ProcessRequest, Sandbox, SandboxPlan
from skills_runtime.sandbox.adapter import Adapter
from skills_runtime.sandbox.bubblewrap import Bubblewrap
from skills_runtime.sandbox.landlock import Landlock
from skills_runtime.sandbox.planner import Fence
from skills_runtime.sandbox.policy import BOUNDED, DEFAULT_PROFILE, Profile, policy_for
from skills_runtime.sandbox.seatbelt import Seatbelt

if TYPE_CHECKING:
    from skills_runtime.config import SandboxSettings

INHERITED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TERM",
    "TMPDIR", "TMP", "TEMP",
)  # fmt: skip
"""The little every process needs; anything else the runtime was started with, such as a key, stays with it."""
DEFAULTS = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}
GAPS = (
    "a process may read and write every file that the user may",
    "a process may use the network",
    "a process may see and signal the user's other processes",
    "nothing limits memory, processor time or the number of processes",
)


def fence_for(
    settings: "SandboxSettings",
    *,
    workspace: Path,
    variables: Mapping[str, str],
    profile: Profile = DEFAULT_PROFILE,
    writable: tuple[Path, ...] = (),
    may_leave: bool = False,
) -> Sandbox:
    """The fence that settings ask for; `variables` are those of the runtime, of which commands get very few.

    With `may_leave` a command that asks for `require_escalated` runs without a fence: the caller must have asked
    somebody about exactly that.
    """
    hosts, egress = settings.egress, None
    if hosts.allow or hosts.allow_private or hosts.unknown != "deny":
        egress = Egress(allow=hosts.allow, allow_private=hosts.allow_private, deny=hosts.deny, unknown=hosts.unknown)
    if egress is not None and profile == DEFAULT_PROFILE:
        profile = "workspace-net"
    if settings.default_policy == "none" or profile == "danger":
        return Unfenced(variables)
    adapters = adapters_for(settings)
    if not adapters:
        return NoFence()
    policy = policy_for(profile, workspace.resolve())
    shared = not settings.os.bubblewrap.unshare_net
    policy = msgspec.structs.replace(
        policy,
        hidden=own_directories(workspace.resolve(), variables),
        egress=egress if profile == "workspace-net" else None,
        writable=tuple(path.resolve() for path in writable),
        required=BOUNDED if settings.profile == "prod" else policy.required,
        network="host" if shared else policy.network,
        accepted_gaps=policy.accepted_gaps | {"network"} if shared else policy.accepted_gaps,
    )
    beyond = Unfenced(variables) if may_leave else None
    return Fence(policy, adapters, variables, beyond=beyond)


def own_directories(workspace: Path, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """The runtime's keys, records and configuration of this user, as far as they lie in the workspace."""
    from skills_runtime.config import config_home, keys_home, state_home

    places = {home(variables).resolve() for home in (config_home, keys_home, state_home)}
    inside = {place for place in places if workspace in place.parents and place.is_dir()}
    return tuple(sorted(place for place in inside if inside.isdisjoint(place.parents)))


def adapters_for(settings: "SandboxSettings") -> tuple[Adapter, ...]:
    """The adapters that `os.mode` lets be used on this system, best first."""
    return adapters_named(settings.os.mode, bubblewrap=settings.os.bubblewrap.bwrap_path)


def adapters_named(mode: str, *, bubblewrap: str = "bwrap") -> tuple[Adapter, ...]:
    """The adapters that a word means: a name, `none`, or `auto` for those of this system."""
    known: dict[str, tuple[Adapter, ...]] = {
        "none": (),
        "bubblewrap": (Bubblewrap(bubblewrap),),
        "landlock": (Landlock(),),
        "seatbelt": (Seatbelt(),),
    }
    if mode == "auto":
        return known["seatbelt"] if sys.platform == "darwin" else (*known["bubblewrap"], *known["landlock"])
    if mode not in known:
        raise ValidationFailed(f"there is no adapter `{mode!a}`", hint=f"adapters: auto, {', '.join(known)}")
    return known[mode]


class Unfenced:
    """Starts commands without isolation; every result says so."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        chosen = {name: variables[name] for name in INHERITED if name in variables}
        self._environment = DEFAULTS | chosen

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        """The command as it is; one that asks for isolation is refused."""
        if request.permissions == "restricted":
            raise SandboxError(
                "the call asks for a sandbox, and `sandbox.default_policy: none` means that there is none",
                hint="leave out `sandbox`, or ask the user for another policy",
            )
        return SandboxPlan(
            argv=request.argv,
            cwd=request.cwd,
            environment={**self._environment, **request.environment},
            evidence={
                "requested": request.permissions,
                "effective": "none",
                "adapter": "none",
                "active": False,
                "profile": "none",
                "promises": [],
                "gaps": list(GAPS),
            },
        )


class NoFence:
    """Refuses every command, so that a missing fence never means a missing check."""

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        """Raise: what cannot be fenced in is not started."""
        raise SandboxError(
            "no sandbox is available yet for processes",
            hint="set `sandbox.default_policy: none` in your own configuration to run without one",
        )
