"""The arguments of bubblewrap for a policy: pure, so that a plan can be printed, compared and tested."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from skills_runtime.ports import KernelLimits
from skills_runtime.sandbox.adapter import Inner
from skills_runtime.sandbox.environment import HOME, USER
from skills_runtime.sandbox.limiting import limits_memory
from skills_runtime.sandbox.machine import Machine
from skills_runtime.sandbox.opening import shown_at
from skills_runtime.sandbox.policy import ResourceLimits, SandboxPolicy
from skills_runtime.sandbox.protected import REPOSITORY
from skills_runtime.sandbox.survey import Findings

FIRST_INPUT = 3
"""The number of the first descriptor besides the streams."""

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
    files = {**FILES, "/etc/gitexcludes": "".join(f"{path.name}\n" for path in findings.placeholders)}
    data = [filter_program, *(text.encode() for text in files.values())]
    written = dict(zip(FILES, numbers[2:], strict=True))
    options = (
        *_isolation(policy, session=not takes_terminal(machine, inner)),
        *_variables(inner.environment),
        *_system(policy, machine, written),
        *_workspace(policy, findings),
        "--remount-ro", "/",
        "--chdir", str(inner.cwd),
        *(("--seccomp", str(numbers[1])) if filter_program else ()),
    )  # fmt: skip
    arguments = "".join(f"{option}\0" for option in options).encode(errors="surrogateescape")
    return Wrapped(options=options, command=_command(machine, inner), inputs=(arguments, *data))


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
    yield from ("--dir", "/var", "--symlink", "/tmp", "/var/tmp", "--dir", "/run")
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


def _workspace(policy: SandboxPolicy, findings: Findings) -> Iterator[str]:
    workspace, source = str(policy.workspace), str(policy.layer or policy.workspace)
    for path in policy.readable:
        yield from ("--ro-bind", str(path), str(path))
    if policy.layer_work is not None:
        yield from ("--overlay-src", workspace, "--overlay", source, str(policy.layer_work), workspace)
    else:
        yield from ("--ro-bind" if policy.access == "read" else "--bind", source, workspace)
    yield from _writable(path for path in policy.writable if path in policy.opened)  # before what is protected in it
    if policy.access == "write" or policy.opened:
        yield from _protection(policy, findings)
    # Where nothing can be written there is no placeholder either, and nothing to hide.
    missing = findings.placeholder_directories if policy.access == "read" else ()
    found = (shown_at(path, policy) for path in findings.hidden_directories if path not in missing)
    hidden = [*found, *policy.hidden]
    for path in hidden:
        yield from ("--tmpfs", str(path))
    for path in policy.readable:  # what the runtime itself keeps there for a command, such as a skill
        if any(path.is_relative_to(place) and path != place for place in hidden):
            yield from ("--ro-bind", str(path), str(path))
    yield from _writable(path for path in policy.writable if path not in policy.opened)
    for path in policy.aliases:
        yield from ("--symlink", workspace, str(path))
    for path in findings.hidden_files:
        yield from ("--ro-bind", "/dev/null", str(shown_at(path, policy)))
    for path in hidden:
        yield from ("--remount-ro", str(path))


def _writable(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        yield from ("--bind", str(path), str(path))


def _protection(policy: SandboxPolicy, findings: Findings) -> Iterator[str]:
    """Parents before what is in them: a directory that is put in its place again would uncover what it holds."""
    for path in findings.pinned:
        yield from ("--bind", str(path), str(shown_at(path, policy)))
    for path in findings.read_only:
        yield from ("--ro-bind", str(path), str(shown_at(path, policy)))
    for path in findings.placeholders:
        # Git goes on looking above what is no file at all, but stops at a file that says nothing.
        source = "/dev/null" if path.name == REPOSITORY else str(path)
        yield from ("--ro-bind-try", source, str(shown_at(path, policy)))


def _command(machine: Machine, inner: Inner) -> tuple[str, ...]:
    session = (machine.session_maker, "--ctty", "--") if inner.terminal and machine.session_maker else ()
    return (*session, *inner.argv)


def kernel_limits(limits: ResourceLimits, machine: Machine) -> KernelLimits:
    """What the kernel keeps of each process of a command."""
    watched = None if limits_memory(machine) else limits.memory_bytes
    values = {
        "core": 0,
        "cpu": limits.cpu_seconds,
        "fsize": limits.file_bytes,
        "nofile": limits.open_files,
        "nproc": limits.processes,
        "data": watched,
    }
    return KernelLimits(values=tuple((name, value) for name, value in values.items() if value is not None))
