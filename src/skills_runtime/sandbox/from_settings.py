"""Build the sandbox of a run from the settings: with adapters, without isolation, or refusing every command."""

import importlib
import os
import pkgutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.errors import SandboxError, ValidationFailed
from skills_runtime.ports import Egress, ProcessRequest, Sandbox, SandboxPlan
from skills_runtime.sandbox.adapter import Adapter
from skills_runtime.sandbox.bubblewrap import Bubblewrap
from skills_runtime.sandbox.landlock import Landlock
from skills_runtime.sandbox.planner import OsSandbox
from skills_runtime.sandbox.policy import BOUNDED, CONTAINMENT, DEFAULT_PROFILE, Profile, build_policy
from skills_runtime.sandbox.protected_paths import topmost
from skills_runtime.sandbox.seatbelt import Seatbelt

if TYPE_CHECKING:
    from skills_runtime.config import SandboxSettings

RUN_PACKAGES = frozenset(
    {
        "agent", "config", "events", "executions", "llm", "ports", "processes", "projections", "render", "runs",
        "safety", "sandbox", "skills", "storage", "tools",
    }
)  # fmt: skip
"""The packages that a run may import later."""
# The minimum a process needs; other variables of the runtime, such as API keys, are not inherited.
INHERITED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TERM",
    "TMPDIR", "TMP", "TEMP",
)  # fmt: skip
DEFAULTS = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}
GAPS = (
    "a process may read and write every file that the user may",
    "a process may use the network",
    "a process may see and signal the user's other processes",
    "nothing limits memory, processor time or the number of processes",
)


def build_sandbox(  # noqa: PLR0913 - all by name
    settings: "SandboxSettings",
    *,
    workspace: Path,
    variables: Mapping[str, str],
    profile: Profile = DEFAULT_PROFILE,
    writable: tuple[Path, ...] = (),
    protected: tuple[Path, ...] = (),
    may_leave: bool = False,
    quarantine: Path | None = None,
) -> Sandbox:
    """Build the sandbox that the settings ask for.

    `protected` are read-only files besides the runtime's own code; `quarantine` receives new files that programs
    outside would execute or obey. With `may_leave`, a command with `require_escalated` runs without a sandbox: the
    caller must have obtained an approval for exactly that.
    """
    hosts, egress = settings.egress, None
    if hosts.allow or hosts.allow_private or hosts.unknown != "deny":
        egress = Egress(allow=hosts.allow, allow_private=hosts.allow_private, deny=hosts.deny, unknown=hosts.unknown)
    if egress is not None and profile == DEFAULT_PROFILE:
        profile = "workspace-net"
    if settings.default_policy == "none" or profile == "danger":
        return NoSandbox(variables)
    adapters = adapters_from_settings(settings)
    if not adapters:
        return UnavailableSandbox()
    policy = build_policy(profile, workspace.resolve())
    shared = not settings.os.bubblewrap.unshare_net
    policy = msgspec.structs.replace(
        policy,
        hidden=own_directories(workspace.resolve(), variables),
        protected=(*runtime_code(workspace.resolve()), *(path.resolve() for path in protected)),
        allow_home=settings.allow_home,
        egress=egress if profile == "workspace-net" else None,
        writable=tuple(path.resolve() for path in writable),
        required=BOUNDED if settings.profile == "prod" else policy.required,
        network="host" if shared else policy.network,
        accepted_gaps=policy.accepted_gaps | {"network"} if shared else policy.accepted_gaps,
    )
    unsandboxed = NoSandbox(variables) if may_leave else None
    return OsSandbox(policy, adapters, variables, unsandboxed=unsandboxed, quarantine=quarantine)


def is_containing(sandbox: Sandbox) -> bool:
    """Return whether a sandbox keeps commands from changing, reading or reaching what is not theirs."""
    return isinstance(sandbox, OsSandbox) and sandbox.keeps(CONTAINMENT)


def runtime_code(workspace: Path) -> tuple[Path, ...]:
    """Return the code of this process that lies in the workspace: interpreter, packages, our own.

    A command that changes it could make the runtime execute code outside the sandbox. Raises `SandboxError` if a
    link in the workspace leads to it, because links cannot be protected.
    """
    locations = (sys.prefix, sys.base_prefix, Path(sys.executable).parent, Path(__file__).parents[1], *sys.path)
    paths = [Path(os.path.abspath(path)) for path in locations if path]
    real = {Path(os.path.realpath(path)) for path in paths}
    code = tuple(sorted(topmost(path for path in real if workspace in path.parents and path.exists())))
    for path in paths:
        for ancestor in (path, *path.parents):
            is_safe = any(ancestor.parent.is_relative_to(root) for root in code)
            if workspace in ancestor.parents and ancestor.is_symlink() and not is_safe:
                raise SandboxError(
                    f"the runtime's own code is reached through the link `{ancestor}` in the workspace",
                    hint="put the directory in place of the link, or the environment outside the workspace",
                )
    return code


def load_runtime_code(workspace: Path) -> None:
    """Import what a run may need later, before commands can write to the import path of this process."""
    if not any(Path(os.path.realpath(path or ".")).is_relative_to(workspace) for path in sys.path):
        return
    import skills_runtime

    for package in RUN_PACKAGES:
        with suppress(ImportError):  # an optional package is not installed
            importlib.import_module(f"skills_runtime.{package}")
    for info in pkgutil.walk_packages(skills_runtime.__path__, "skills_runtime."):
        if info.name.split(".")[1] in RUN_PACKAGES and "inside" not in info.name and "supervision" not in info.name:
            with suppress(ImportError):
                importlib.import_module(info.name)


def own_directories(workspace: Path, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the directories of the user's keys, records and configuration that lie in the workspace."""
    from skills_runtime.config import config_home, keys_home, state_home

    paths = {home(variables).resolve() for home in (config_home, keys_home, state_home)}
    inside = {path for path in paths if workspace in path.parents and path.is_dir()}
    return tuple(sorted(directory for directory in inside if inside.isdisjoint(directory.parents)))


def adapters_from_settings(settings: "SandboxSettings") -> tuple[Adapter, ...]:
    """Return the adapters that `os.mode` allows on this system, best first."""
    return find_adapters(settings.os.mode, bubblewrap=settings.os.bubblewrap.bwrap_path)


def find_adapters(mode: str, *, bubblewrap: str = "bwrap") -> tuple[Adapter, ...]:
    """Return the adapters for a mode: a name, `none`, or `auto` for those of this system."""
    adapters: dict[str, tuple[Adapter, ...]] = {
        "none": (),
        "bubblewrap": (Bubblewrap(bubblewrap),),
        "landlock": (Landlock(),),
        "seatbelt": (Seatbelt(),),
    }
    if mode == "auto":
        return adapters["seatbelt"] if sys.platform == "darwin" else (*adapters["bubblewrap"], *adapters["landlock"])
    if mode not in adapters:
        raise ValidationFailed(f"there is no adapter `{mode!a}`", hint=f"adapters: auto, {', '.join(adapters)}")
    return adapters[mode]


class NoSandbox:
    """Starts commands without isolation; every result says so."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        chosen = {name: variables[name] for name in INHERITED if name in variables}
        self._environment = DEFAULTS | chosen

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        """Return the command unchanged; refuse one that requires isolation."""
        if request.permissions == "restricted":
            raise SandboxError(
                "the call asks for a sandbox, but `sandbox.default_policy: none` disables it",
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


class UnavailableSandbox:
    """Refuses every command, so that a missing sandbox never means unprotected execution."""

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        """Raise `SandboxError`: a command that cannot be isolated is not started."""
        raise SandboxError(
            "no sandbox is available yet for processes",
            hint="set `sandbox.default_policy: none` in your own configuration to run without one",
        )
