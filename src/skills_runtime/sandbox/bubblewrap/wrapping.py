"""The arguments of bubblewrap for a policy: pure, so that a plan can be printed, compared and tested."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from skills_runtime.errors import SandboxError
from skills_runtime.ports import KernelLimits
from skills_runtime.sandbox.adapter import Inner
from skills_runtime.sandbox.bubblewrap.protection import Protection, protection_for
from skills_runtime.sandbox.environment import HOME, USER
from skills_runtime.sandbox.limiting import data_limit
from skills_runtime.sandbox.machine import Machine
from skills_runtime.sandbox.policy import ResourceLimits, SandboxPolicy
from skills_runtime.sandbox.survey import Findings

FIRST_INPUT = 3
"""The number of the first descriptor besides the streams."""

MAX_WORDS = 8900
"""Of all options; bubblewrap takes no more than 9000 words."""

MAX_EMPTY = 32
"""Files that are covered by an empty one, which programs copy like any other; each takes a descriptor and time."""

IDENTITY = 1000
"""User and group of the command as it sees itself."""

LAYERS = 2
"""The watching process outside, and the first process inside."""

NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--disable-userns",
)  # fmt: skip

FILES: Mapping[str, str] = {
    "/etc/passwd": f"root:x:0:0:root:/nowhere:/usr/sbin/nologin\n{USER}:x:{IDENTITY}:{IDENTITY}::{HOME}:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/nowhere:/usr/sbin/nologin\n",
    "/etc/group": f"root:x:0:\n{USER}:x:{IDENTITY}:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "/etc/gitconfig": "[core]\n\texcludesFile = /etc/gitexcludes\n[safe]\n\tdirectory = *\n",
    "/etc/gitexcludes": "",
}
"""Written anew, because those of the machine tell of its users and its network; the last depends on the workspace."""


class Wrapped(msgspec.Struct, frozen=True, kw_only=True):
    """What is given to bubblewrap: options by a descriptor, so that no variable shows in the list of processes."""

    options: tuple[str, ...]
    command: tuple[str, ...]
    inputs: tuple[bytes, ...]
    workspace: tuple[str, ...] = ()
    """Those of the options that are about the workspace and other places of the user."""


NUMBERS = tuple(range(FIRST_INPUT, FIRST_INPUT + 2 + len(FILES)))
"""The descriptors that bubblewrap reads: its options, the filter, and the files."""


def wrap(
    policy: SandboxPolicy,
    findings: Findings,
    machine: Machine,
    inner: Inner,
    filter_program: bytes,
    numbers: Sequence[int] = NUMBERS,
) -> Wrapped:
    """Everything bubblewrap is told."""
    protection = protection_for(policy, findings)
    excluded = (path.name for path in findings.placeholders if path.name.startswith("."))
    files = {**FILES, "/etc/gitexcludes": "".join(f"{name}\n" for name in excluded)}
    empty = dict(
        zip(protection.hidden_files[:MAX_EMPTY], range(numbers[-1] + 1, numbers[-1] + 1 + MAX_EMPTY), strict=False)
    )
    data = [filter_program, *(text.encode() for text in files.values()), *(b"" for _ in empty)]
    written = dict(zip(FILES, numbers[2:], strict=True))
    workspace = tuple(_workspace(policy, protection, empty))
    options = (
        *_isolation(policy, session=not takes_terminal(machine, inner)),
        *_variables(inner.environment),
        *_system(policy, machine, written),
        *workspace,
        "--remount-ro", "/",
        "--chdir", str(inner.cwd),
        *(("--seccomp", str(numbers[1])) if filter_program else ()),
    )  # fmt: skip
    if len(options) > MAX_WORDS:
        first = next(iter((*protection.concealed, *protection.hidden_files)), policy.workspace)
        raise SandboxError(
            f"`{policy.workspace}` holds more to protect, such as `{first}`, than a sandbox takes",
            hint="name a smaller directory as the workspace, or put secrets and repositories elsewhere",
            details={"missing": ["protected_paths", "secrets"]},
        )
    arguments = "".join(f"{option}\0" for option in options).encode(errors="surrogateescape")
    command = _command(machine, inner)
    return Wrapped(options=options, command=command, inputs=(arguments, *data), workspace=workspace)


def takes_terminal(machine: Machine, inner: Inner) -> bool:
    """Whether the command begins a session of its own, with the terminal it is given."""
    return inner.terminal and machine.session_maker is not None


def _isolation(policy: SandboxPolicy, *, session: bool) -> Iterator[str]:
    yield from ("--die-with-parent", *NAMESPACES, "--hostname", USER)
    if policy.network != "host":
        yield "--unshare-net"
    if session:
        yield "--new-session"
    yield from ("--uid", str(IDENTITY), "--gid", str(IDENTITY), "--cap-drop", "ALL", "--clearenv")


def _variables(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        yield from ("--setenv", name, value)


def _system(policy: SandboxPolicy, machine: Machine, written: Mapping[str, int]) -> Iterator[str]:
    for root in machine.roots:
        yield from ("--ro-bind", root, root)
    for link, target in machine.links:
        yield from ("--symlink", target, link)
    for path in machine.files:
        yield from ("--ro-bind", path, path)
    for path, number in written.items():
        yield from ("--perms", "0444", "--file", str(number), path)
    if policy.network == "host":
        yield from ("--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf")
    yield from _kernel(machine)
    yield from ("--dev", "/dev", *_bounded("/dev/shm", policy.limits.shared_memory_bytes), "--remount-ro", "/dev")
    yield from (*_bounded("/tmp", policy.limits.temporary_bytes), "--dir", HOME)
    yield from ("--dir", "/var", *_other_temporary(policy), "--dir", "/run")
    if machine.interpreter is not None:
        yield from ("--ro-bind", str(machine.interpreter), str(machine.interpreter))


def _kernel(machine: Machine) -> Iterator[str]:
    """A view of the own processes only; settings of the kernel can be read, not changed."""
    yield from ("--proc", "/proc")
    for path in machine.kernel_secrets:
        yield from ("--ro-bind", "/dev/null", path)
    for path in machine.kernel_directories:
        yield from ("--tmpfs", path, "--remount-ro", path)
    # Bubblewrap covers what it finds writable; for a command of the administrator it looks with the wrong eyes.
    yield from ("--remount-ro", "/proc")


def _bounded(path: str, size: int) -> tuple[str, ...]:
    return ("--size", str(size), "--perms", "1777", "--tmpfs", path)


def _other_temporary(policy: SandboxPolicy) -> tuple[str, ...]:
    """The same as `/tmp`, unless something of the user lies there: nothing can be mounted through a link."""
    places = (policy.workspace, *policy.readable, *policy.writable)
    if any(path.is_relative_to("/var/tmp") for path in places):
        return _bounded("/var/tmp", policy.limits.temporary_bytes)
    return ("--symlink", "/tmp", "/var/tmp")


def _workspace(policy: SandboxPolicy, protection: Protection, empty: Mapping[Path, int]) -> Iterator[str]:
    for path in policy.readable:
        yield from ("--ro-bind", str(path), str(path))
    yield from ("--ro-bind" if policy.access == "read" else "--bind", str(policy.workspace), str(policy.workspace))
    yield from _writable(path for path in policy.writable if path in policy.opened)  # before what is protected in it
    yield from _protected(protection)
    hidden = [*protection.hidden_directories, *policy.hidden]
    for path in hidden:
        yield from ("--tmpfs", str(path))
    for path in policy.readable:  # what the runtime itself keeps there for a command, such as a skill
        if any(path.is_relative_to(place) and path != place for place in hidden):
            yield from ("--ro-bind", str(path), str(path))
    yield from _writable(path for path in policy.writable if path not in policy.opened)
    for path in policy.aliases:
        if not path.is_relative_to(policy.workspace):  # such a link is there already
            yield from ("--symlink", str(policy.workspace), str(path))
    for path in protection.hidden_files:
        yield from _covered(str(path), empty.get(path))
    for path in protection.concealed:  # bounded by size, since to make one read-only costs as much as another mount
        yield from ("--size", "4096", "--perms", "0555", "--tmpfs", str(path))
    for path in hidden:
        yield from ("--remount-ro", str(path))


def _covered(place: str, number: int | None) -> tuple[str, ...]:
    """An empty file where there is a descriptor for one, else a device, which programs do not copy."""
    return (
        ("--ro-bind", "/dev/null", place)
        if number is None
        else ("--perms", "0444", "--ro-bind-data", str(number), place)
    )


def _writable(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        yield from ("--bind", str(path), str(path))


def _protected(protection: Protection) -> Iterator[str]:
    """Parents before what is in them: a directory that is put in its place again would uncover what it holds."""
    options = dict.fromkeys(protection.pinned, "--bind") | dict.fromkeys(protection.closed, "--ro-bind")
    for path in sorted(options, key=lambda path: (len(path.parts), path)):
        yield from (options[path], str(path), str(path))
    for path in protection.read_only:
        yield from ("--ro-bind", str(path), str(path))
    for path in protection.placeholders:
        yield from ("--ro-bind-try", str(path), str(path))


def _command(machine: Machine, inner: Inner) -> tuple[str, ...]:
    session = (machine.session_maker, "--ctty", "--") if inner.terminal and machine.session_maker else ()
    return (*session, *inner.argv)


def kernel_limits(limits: ResourceLimits, machine: Machine) -> KernelLimits:
    """What the kernel keeps of each process of a command."""
    values = {
        "core": 0,
        "cpu": limits.cpu_seconds,
        "fsize": limits.file_bytes,
        "nofile": limits.open_files,
        "nproc": limits.processes,
        "data": data_limit(limits, machine),
    }
    return KernelLimits(values=tuple((name, value) for name, value in values.items() if value is not None))
