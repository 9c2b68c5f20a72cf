"""What the `sandbox` commands share: which fence somebody asks for on the command line.

No settings are read here, least of all those of the workspace: a command line says all there is to know. Nothing of
this process's environment is passed on either.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skills_runtime.sandbox import Fence, ResourceLimits, SandboxPolicy

MEBIBYTE = 1 << 20
MAX_VARIABLES = 2000
"""Each is three words to bubblewrap, which takes 9000 in all and needs some for everything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceOptions:
    """Which sandbox is asked for; limits that are not given are those of the profile."""

    workspace: str = "."
    profile: str = "workspace-write"
    adapter: str = "auto"
    bwrap: str = "bwrap"
    accept_gap: Sequence[str] = ()
    timeout: float | None = None
    memory: int | None = None
    processes: int | None = None
    disk: int | None = None
    allow_host: Sequence[str] = ()
    allow_private_host: Sequence[str] = ()
    deny_host: Sequence[str] = ()


def fence_from(options: FenceOptions) -> "tuple[Fence, SandboxPolicy]":
    """The fence for these options, and the policy it keeps."""
    import msgspec

    from skills_runtime.errors import ValidationFailed
    from skills_runtime.sandbox import Fence, adapters_named, policy_for, profile_named
    from skills_runtime.sandbox.promises import promise_named

    profile = profile_named(options.profile)
    if profile == "danger":
        raise ValidationFailed("the profile `danger` is no sandbox", hint="run the command without `sandbox exec`")
    if _hosts(options) and profile == "workspace-write":
        profile = "workspace-net"
    given = _path(options.workspace)
    policy = policy_for(profile, given.resolve(), None if profile == "build" else _careful())
    policy = msgspec.structs.replace(
        policy,
        limits=_changed(policy.limits, options),
        aliases=(given,) if given != policy.workspace else (),
        hidden=_hidden(policy.workspace),
        accepted_gaps=frozenset(map(promise_named, options.accept_gap)),
        **_network(options),
    )
    adapters = adapters_named(options.adapter, bubblewrap=options.bwrap)
    return Fence(policy, adapters, {}), policy


def _hosts(options: FenceOptions) -> bool:
    return bool(options.allow_host or options.allow_private_host)


def _network(options: FenceOptions) -> "dict[str, Any]":
    """The allow-list, with any profile that somebody names hosts for; a list that names none lets nothing pass."""
    if not _hosts(options) and not options.deny_host and options.profile != "workspace-net":
        return {}
    from skills_runtime.ports import Egress
    from skills_runtime.sandbox.egress.stage import policy_of

    egress = Egress(
        allow=tuple(options.allow_host),
        allow_private=tuple(options.allow_private_host),
        deny=tuple(options.deny_host),
    )
    policy_of(egress)  # refuses a rule that cannot be used, also where it would change nothing
    listed = _hosts(options) or options.profile == "workspace-net"
    return {"network": "allow-list", "egress": egress} if listed else {}


def _hidden(workspace: Path) -> tuple[Path, ...]:
    """What the runtime keeps for this user; it can lie only in a directory that holds a whole home."""
    from skills_runtime.sandbox import own_directories

    if workspace not in (home := Path.home().resolve(), *home.parents):
        return ()
    from skills_runtime.config.environment import process_environ

    return own_directories(workspace, process_environ())


def _path(text: str) -> Path:
    from skills_runtime.errors import ValidationFailed

    if not text.strip() or "\0" in text:
        raise ValidationFailed("`--workspace` does not name a usable path", hint="give the path of a directory")
    return Path(os.path.abspath(text))


def variables_of(assignments: Sequence[str]) -> dict[str, str]:
    """The variables that the options name."""
    from skills_runtime.errors import ValidationFailed

    variables: dict[str, str] = {}
    for assignment in assignments:
        name, separator, value = assignment.partition("=")
        if not name or not separator:
            raise ValidationFailed("`--setenv` needs a name and a value", hint="write `--setenv NAME VALUE`")
        variables[name] = value
    if len(variables) > MAX_VARIABLES:
        raise ValidationFailed(
            f"a command gets no more than {MAX_VARIABLES:,} variables, and these are {len(variables):,}",
            hint="put them into a file in the workspace",
        )
    return variables


def _careful() -> "ResourceLimits":
    from skills_runtime.sandbox import CAREFUL

    return CAREFUL


def _changed(limits: "ResourceLimits", options: FenceOptions) -> "ResourceLimits":
    import msgspec

    from skills_runtime.errors import ValidationFailed

    given = {
        "wall_seconds": options.timeout,
        "memory_bytes": options.memory and options.memory * MEBIBYTE,
        "processes": options.processes,
        "disk_bytes": options.disk and options.disk * MEBIBYTE,
    }
    if any(value is not None and value < 0 for value in given.values()):
        raise ValidationFailed("a limit cannot be negative", hint="0 means that there is none")
    changes = {name: value or None for name, value in given.items() if value is not None}
    if "wall_seconds" in changes:
        seconds = options.timeout
        changes["cpu_seconds"] = int(seconds) + 2 if seconds else None
    return msgspec.structs.replace(limits, **changes)
