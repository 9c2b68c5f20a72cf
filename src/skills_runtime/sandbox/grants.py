"""Widen the policy of one command by an approved grant; refuse what cannot be granted.

Secrets, the runtime's own state, system paths, internal networks, and writing to files that outside programs obey
are never granted. Pure, except that `control_directories` reads the variables it is given.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from skills_runtime.errors import SandboxError, ValidationFailed
from skills_runtime.ports import Egress, Grant, LimitName, RaisedLimit
from skills_runtime.protected_names import (
    CREDENTIAL_NAMES,
    ENV_FILE_PREFIX,
    HOME_SECRET_PATHS,
    KEY_NAMES,
    LOGIN_PATHS,
    is_autoloaded_name,
    is_key_file,
)
from skills_runtime.sandbox.egress import allow_rule, canonical_host
from skills_runtime.sandbox.egress.rules import Refused, find_reach
from skills_runtime.sandbox.policy import SandboxPolicy
from skills_runtime.sandbox.protected_paths import READ_ONLY, RUNTIME_DIRECTORY

# The largest values any kernel accepts.
MAX_LIMITS: dict[LimitName, int] = {"open_files": 1 << 20, "processes": 1 << 15}
RUNS_OUTSIDE = "programs outside the sandbox obey what is there"
_OBEYED_PARENTS = tuple(
    "/".join(path.split("/")[:depth])
    for path in LOGIN_PATHS
    for depth in range(1, path.count("/") + 1)
    if path.startswith(".")
)
_HOME_PROGRAMS = re.compile(r"(?:/home/[^/]+|/Users/[^/]+|/root)/(?:go/|\.[^/]+/(?:.*/)?)?s?bin(?:/.*)?")
"""Directories in a home where programs are found by name."""
CLOSED_TO_ALL = ("/proc", "/sys", "/dev", "/run", "/boot")
CLOSED_TO_WRITING = (
    *CLOSED_TO_ALL, "/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr", "/var", "/nix", "/gnu",
    "/System", "/Library", "/private/etc", "/private/var",
)  # fmt: skip
# They hold other users' data, or everything; a directory inside may be opened if nothing else forbids it.
BROAD_DIRECTORIES = (
    "/", "/home", "/root", "/Users", "/tmp", "/etc", "/usr", "/var", "/opt", "/mnt", "/media", "/srv", "/private",
)  # fmt: skip
SECRET_PATHS = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private")
SECRET_NAMES = frozenset((*CREDENTIAL_NAMES, *HOME_SECRET_PATHS, *KEY_NAMES, "keyrings"))
_SECRET_PARENTS = tuple(
    "/".join(name.split("/")[:depth])
    for name in sorted(SECRET_NAMES)
    for depth in range(1, name.count("/") + 1)
    if name.startswith(".")
)
MAX_PATH_BYTES = 4095
# No kernel accepts a longer path or name.
MAX_NAME_BYTES = 255
IS_SECRET = "secrets are kept there"
IS_OWN = "the runtime keeps its own state there"
_LOCAL_NAMES = re.compile(
    r"(?:.*\.)?(localhost|local|internal|intranet|lan|home|corp|private"
    r"|localhost6|localdomain|localdomain6|localnet|domain|workgroup|mshome|router|gateway|box|host|arpa|svc|consul)"
    r"|metadata(\..*)?|[^.]+"
)
_HOME = re.compile(r"/(?:home|Users)/[^/]+(?:/Library(?:/Application Support)?)?|/root")
# More than any machine has, and less than any kernel refuses.
MAX_LIMIT = 1 << 50
MAX_PATH_CHARACTERS = 200
"""Characters of a path shown in a message."""
Resolve = Callable[[str], str]


def apply_grant(
    policy: SandboxPolicy,
    grant: Grant,
    *,
    control: Iterable[Path] = (),
    programs: Iterable[Path] = (),
    resolve: Resolve = os.path.realpath,
) -> SandboxPolicy:
    """Add a grant to a policy; raise `SandboxError` for what cannot be granted.

    `control` are the runtime's own directories outside the workspace, `programs` the directories of the user's
    programs. Paths must be real: a link could be redirected after the approval.
    """
    refuse_ungrantable(policy, grant, control=control, programs=programs, resolve=resolve)
    writable_roots = (*policy.writable, *([policy.workspace] if policy.access == "write" else []))
    writable = [
        path for path in map(Path, grant.writable) if not any(path.is_relative_to(root) for root in writable_roots)
    ]
    readable = [
        path
        for path in map(Path, grant.readable)
        if not any(
            path.is_relative_to(root) for root in (policy.workspace, *policy.readable, *policy.writable, *writable)
        )
    ]
    network, egress = policy.network, policy.egress
    if grant.hosts and network != "host":
        rules = (allow_rule(host).text for host in grant.hosts)
        network, egress = "allow-list", egress or Egress()
        egress = msgspec.structs.replace(egress, allow=tuple(dict.fromkeys((*egress.allow, *rules))))
    raised: dict[str, int] = {}
    for limit in grant.limits:  # limits only go up; an unlimited one stays unlimited
        now: int | None = getattr(policy.limits, limit.name)
        if now is not None and limit.value > now:
            raised[limit.name] = limit.value
    return msgspec.structs.replace(
        policy,
        writable=_with(policy.writable, writable),
        readable=_with(policy.readable, readable),
        opened=_with(policy.opened, [*writable, *readable]),
        network=network,
        egress=egress,
        limits=msgspec.structs.replace(policy.limits, **raised),
    )


def refuse_ungrantable(
    policy: SandboxPolicy,
    grant: Grant,
    *,
    control: Iterable[Path] = (),
    programs: Iterable[Path] = (),
    resolve: Resolve = os.path.realpath,
) -> None:
    """Raise for the first item of a grant that cannot be granted."""
    closed = (*control, *policy.hidden)
    program_paths = tuple(program for program in programs if not program.is_relative_to(policy.workspace))
    for path, writing in (*((path, True) for path in grant.writable), *((path, False) for path in grant.readable)):
        reason = why_not_path(path, writing=writing, control=closed, within=policy.workspace, programs=program_paths)
        if reason is None and Path(path) in (policy.workspace, *policy.workspace.parents):
            reason = "the workspace lies in it"
        if reason is None and resolve(path) != path:
            reason = "a link is on the way to it"
        if reason is not None:
            shortened = path if len(path) <= MAX_PATH_CHARACTERS else f"{path[:MAX_PATH_CHARACTERS]}…"
            raise _refusal(f"`{shortened}` cannot be granted to a command: {reason}", path)
    for host in grant.hosts:
        if (reason := why_not_host(host)) is not None:
            raise _refusal(f"`{host}` cannot be granted to a command: {reason}", host)
    for limit in grant.limits:
        if not 0 < limit.value <= MAX_LIMITS.get(limit.name, MAX_LIMIT):
            raise _refusal(f"the limit `{limit.name}` cannot be {limit.value}", limit.name)


def combine_grants(grants: Iterable[Grant]) -> Grant:
    """Return one grant that opens what all of them open, with the highest of each limit."""
    every = tuple(grants)
    highest: dict[str, RaisedLimit] = {}
    for limit in (limit for grant in every for limit in grant.limits):
        current = highest.get(limit.name)
        highest[limit.name] = limit if current is None or limit.value > current.value else current
    return Grant(
        writable=tuple(dict.fromkeys(path for grant in every for path in grant.writable)),
        readable=tuple(dict.fromkeys(path for grant in every for path in grant.readable)),
        hosts=tuple(dict.fromkeys(host for grant in every for host in grant.hosts)),
        limits=tuple(highest.values()),
    )


def _with(paths: tuple[Path, ...], more: list[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys((*paths, *more)))


def _refusal(message: str, target: str) -> SandboxError:
    return SandboxError(
        message, hint="no grant opens it; have the user do this part", details={"target": target, "grantable": False}
    )


def why_not_path(
    path: str,
    *,
    writing: bool,
    control: Iterable[Path] = (),
    within: Path | None = None,
    programs: Iterable[Path] = (),
) -> str | None:
    """Return why a path can never be opened, as the end of a sentence; empty when it may be.

    `control` are the runtime's own directories, `programs` the directories where the user's programs are found by
    name, and `within` is the workspace.
    """
    if not path.startswith("/") or "\0" in path or path != os.path.normpath(path) or path.startswith("//"):
        return "it is not a plain absolute path"
    data = path.encode(errors="surrogatepass")
    if len(data) > MAX_PATH_BYTES or any(len(part) > MAX_NAME_BYTES for part in data.split(b"/")):
        return "it is too long for a path"
    target = Path(path)
    if reason := _system_reason(path, writing=writing):
        return reason
    if path in BROAD_DIRECTORIES or _HOME.fullmatch(path):
        return "it holds far more than one command needs"
    if is_secret(target):
        return IS_SECRET
    if RUNTIME_DIRECTORY in target.parts or any(
        target.is_relative_to(own) or own.is_relative_to(target) for own in control
    ):
        return IS_OWN
    if writing and is_obeyed(target, within=within, programs=programs):
        return RUNS_OUTSIDE
    return None


def why_not_host(rule: str) -> str | None:
    """Return why a grant can never open a host; empty when it may."""
    if "*" in rule:
        return "a grant names one host and its ports"
    try:
        host = canonical_host(allow_rule(rule).host)
    except ValidationFailed as error:
        return f"it is not a host: {error.message}"
    if isinstance(host, Refused):
        return f"it is not a host: {host.reason}"
    if host.address is not None:
        reach = find_reach(host.address)
        return None if reach == "public" else f"it is a {reach} address"
    return "it is a name of a network within" if _LOCAL_NAMES.fullmatch(host.text) else None


def control_directories(variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Return where the runtime stores keys, records and configuration of this user."""
    from skills_runtime.config import config_home, keys_home, state_home

    return tuple(sorted({Path(os.path.realpath(home(variables))) for home in (config_home, keys_home, state_home)}))


def program_directories(variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Return where this user's programs are found by name."""
    return tuple(Path(path) for path in variables.get("PATH", "").split(":") if path.startswith("/"))


def is_obeyed(path: Path, *, within: Path | None = None, programs: Iterable[Path] = ()) -> bool:
    """Return whether writing there changes what programs do; names above a workspace do not count."""
    inside = path.relative_to(within) if within is not None and path.is_relative_to(within) else path
    if any(part.casefold() in READ_ONLY or is_autoloaded_name(part) for part in inside.parts):
        return True
    if any(path.is_relative_to(program) or program.is_relative_to(path) for program in programs):
        return True
    if _HOME_PROGRAMS.fullmatch(str(path)) and inside is path:
        return True
    text = f"/{'/'.join(part for part in inside.parts if part != '/')}/"
    return any(f"/{name}/" in text for name in LOGIN_PATHS) or holds(text.rstrip("/"), _OBEYED_PARENTS)


def holds(path: str, endings: Iterable[str]) -> bool:
    """Return whether the path has one of these names, wherever it lies."""
    return any(path.endswith(f"/{ending}") for ending in endings)


def is_secret(path: Path) -> bool:
    """Return whether a part of the path, or a known file in such a directory, is named like a secret."""
    text = f"{path}/"
    if any(f"/{name}/" in text for name in SECRET_NAMES) or _is_in(str(path), SECRET_PATHS):
        return True
    if holds(str(path), _SECRET_PARENTS):
        return True
    return any(part.startswith(ENV_FILE_PREFIX) for part in path.parts) or is_key_file(path.name)


def _system_reason(path: str, *, writing: bool) -> str | None:
    if _is_in(path, CLOSED_TO_ALL):
        return "it belongs to the kernel"
    # Below `/tmp` lie temporary files of other programs, but no system files.
    if writing and _is_in(path, CLOSED_TO_WRITING) and not path.startswith(("/var/tmp/", "/private/var/folders/")):
        return "it belongs to the system"
    return None


def _is_in(path: str, roots: Iterable[str]) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in roots)
