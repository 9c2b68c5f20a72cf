"""The bubblewrap adapter: find and probe the program, and turn a policy into its options.

The options are pure, so a plan can be printed, compared and tested. `protective_mounts` decides what is mounted
over a workspace; the supervisor compares the mount table with `expected_mounts`.
"""

import os
import re
import stat
import subprocess  # noqa: TID251 - a probe runs a program
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

import msgspec

from skills_runtime.errors import SandboxError
from skills_runtime.ports import FileAccess, SandboxSetup
from skills_runtime.protected_names import REPOSITORY
from skills_runtime.sandbox.adapter import (
    HOME,
    SYSTEM_PATH,
    USER,
    Capabilities,
    Inner,
    SandboxedCommand,
    build_file_access,
    list_hidden,
    list_protected,
    list_system_paths,
)
from skills_runtime.sandbox.limits import (
    build_control_groups,
    build_scope_command,
    build_watch,
    kernel_limits,
    limit_gaps,
    limits_memory,
    scope_variables,
    validate_limits,
)
from skills_runtime.sandbox.machine import Machine, this_machine
from skills_runtime.sandbox.policy import CAREFUL, Gap, SandboxPolicy
from skills_runtime.sandbox.protected_paths import Findings, scan_gaps
from skills_runtime.sandbox.protective_mounts import Protection, plan_protection, protection_gaps
from skills_runtime.sandbox.seccomp import AllowedCalls, seccomp_program

FIRST_INPUT = 3
"""The first descriptor after the standard streams."""
# bubblewrap refuses more than 9000 arguments.
MAX_ARGUMENTS = 8900
# Files covered by an empty one; each takes a descriptor and start time.
MAX_EMPTY_FILES = 32
IDENTITY = 1000
"""User and group ID that the command sees."""
# bwrap's monitor outside, and its init process inside.
SANDBOX_PROCESS_GENERATIONS = 2
NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--disable-userns",
)  # fmt: skip
# Replaced because the host's files reveal its users and network; the git files are filled in later.
FILES: Mapping[str, str] = {
    "/etc/passwd": f"root:x:0:0:root:/nowhere:/usr/sbin/nologin\n{USER}:x:{IDENTITY}:{IDENTITY}::{HOME}:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/nowhere:/usr/sbin/nologin\n",
    "/etc/group": f"root:x:0:\n{USER}:x:{IDENTITY}:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "/etc/gitconfig": "",
    "/etc/gitattributes": "",
    "/etc/gitexcludes": "",
}
NUMBERS = tuple(range(FIRST_INPUT, FIRST_INPUT + 2 + len(FILES)))
"""The descriptors bubblewrap reads: options, seccomp filter, files."""
BINDS = ("--bind", "--ro-bind", "--ro-bind-try")
IN_MEMORY = {"--tmpfs": 1, "--bind-data": 2, "--ro-bind-data": 2}
"""Options that mount something without an outside path, with the number of arguments before the mount point."""
Mount = tuple[str, str, str]
# git filter: print the committed blob instead of the empty file that covers it.
_COMMITTED_CONTENT_FILTER = "git cat-file blob :%f"
_NOT_IN_GIT_CONFIG = {ord(character): None for character in '"\\\n\r\0'}
TIMEOUT_SECONDS = 10.0
PROBED_NAMESPACES = ("pid", "net", "ipc", "uts", "mnt", "user")
# Opens files for appending and writes nothing, so the probe changes nothing even without a sandbox.
SCRIPT = f"""
while read -r line; do echo "status $line"; done < /proc/self/status
for kind in {" ".join(PROBED_NAMESPACES)}; do echo "namespace $kind $(readlink /proc/self/ns/$kind)"; done
while read -r line; do case $line in *:*) echo "interface ${{line%%:*}}";; esac; done < /proc/net/dev
(: >> /usr/.probe) 2> /dev/null && echo "writable /usr"
(: >> /proc/sys/kernel/core_pattern) 2> /dev/null && echo "writable /proc/sys"
(: >> /etc/passwd) 2> /dev/null && echo "writable /etc"
echo "end of probe"
"""
NOT_PERMITTED = (
    "allow user namespaces: `sysctl -w user.max_user_namespaces=15000`, on some systems also"
    " `kernel.unprivileged_userns_clone=1` or `kernel.apparmor_restrict_unprivileged_userns=0`;"
    " a container must be started so that it may make them"
)
# Never looked up on `PATH`, where a workspace could put a program of the same name.
DIRECTORIES = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")
# Allows every call: bubblewrap waits for a filter even on architectures that have none.
NO_FILTER = b"\x06\0\0\0\0\0\xff\x7f"
PROGRAM = "bwrap"
# Index of the filter among the inputs; bubblewrap reads it last, which `spawn` relies on.
FILTER_INPUT_INDEX = 1
INSTALL = "install it: `apt install bubblewrap`, `dnf install bubblewrap` or `apk add bubblewrap`"


class Bubblewrap:
    """Namespaces, bind mounts and a seccomp filter."""

    name = "bubblewrap"

    def __init__(self, program: str = PROGRAM) -> None:
        self._program = program

    def probe(self) -> Capabilities:
        """Start a small sandbox and report what it can do on this machine."""
        return _probe_cached(self._program, os.geteuid())

    def gaps(self, policy: SandboxPolicy, machine: Machine, findings: Findings) -> tuple[Gap, ...]:
        """Return the promises that bubblewrap cannot keep for this policy."""
        gaps = list(limit_gaps(policy, machine, own_users=True))
        if machine.architecture is None:
            gaps.append(Gap(promise="system_calls", text="there is no filter for this processor architecture"))
        if policy.network == "host":
            gaps.append(Gap(promise="network", text="a process may use the network, as the policy says"))
        if policy.unix_sockets:
            gaps.append(Gap(promise="ipc", text="a process may use sockets in the workspace", partial=True))
        return (*gaps, *scan_gaps(policy, findings), *protection_gaps(policy, findings))

    def wrap(self, policy: SandboxPolicy, machine: Machine, findings: Findings, inner: Inner) -> SandboxedCommand:
        """Build the bubblewrap command line for a command."""
        validate_limits(policy.limits)
        permitted = AllowedCalls(unix_sockets=policy.unix_sockets, large_segments=limits_memory(machine))
        filter_program = seccomp_program(machine.architecture, permitted) if machine.architecture else NO_FILTER
        bwrap = build_invocation(policy, findings, machine, inner, filter_program)
        prefix = build_scope_command(policy.limits, machine)
        if machine.user == 0 and policy.owner not in (None, (0, 0)) and machine.identity_changer is not None:
            # A command of root in another user's workspace runs as that user.
            user, group = policy.owner or (0, 0)
            prefix += (machine.identity_changer, f"--reuid={user}", f"--regid={group}", "--clear-groups", "--")
        program = find_program(self._program) or self._program
        limits = kernel_limits(policy.limits, machine)
        synchronization = ("--info-fd", str(limits.tells), "--block-fd", str(limits.waits))  # until its limits are set
        return SandboxedCommand(
            argv=(*prefix, program, "--args", str(FIRST_INPUT), *synchronization, "--", *bwrap.command),
            cwd=Path("/"),
            environment=scope_variables(machine),
            options=bwrap.options,
            setup=SandboxSetup(
                inputs=bwrap.inputs,
                control_groups=build_control_groups(policy.limits, machine),
                watch=build_watch(policy, machine, (*list_protected(policy, findings), *list_hidden(policy, findings))),
                limits=limits,
                mounts=tuple(expected_mounts(bwrap.workspace, policy)),
                withheld=FILTER_INPUT_INDEX,
                layers=SANDBOX_PROCESS_GENERATIONS,
                takes_terminal=takes_terminal(machine, inner),
            ),
        )

    def file_access(self, policy: SandboxPolicy, machine: Machine, findings: Findings) -> FileAccess:
        """Return the mounted directories without the paths that are covered in them."""
        return msgspec.structs.replace(
            build_file_access(policy, list_system_paths(machine)),
            temporary="/tmp",
            protected=list_protected(policy, findings),
            hidden=list_hidden(policy, findings),
        )


def find_program(name: str) -> str | None:
    """Return the absolute path of a program; None if users other than its owner could have changed it."""
    if "/" in name and not name.startswith("/"):
        return None
    for path in [name] if name.startswith("/") else [f"{directory}/{name}" for directory in DIRECTORIES]:
        with suppress(OSError):
            info = Path(path).stat()
            runs = stat.S_ISREG(info.st_mode) and os.access(path, os.X_OK)
            if runs and info.st_uid in (0, os.geteuid()) and not info.st_mode & stat.S_IWOTH:
                return path
    return None


class BwrapInvocation(msgspec.Struct, frozen=True, kw_only=True):
    """Input of bubblewrap: options go through a descriptor, so that no variable shows in the process list."""

    options: tuple[str, ...]
    command: tuple[str, ...]
    inputs: tuple[bytes, ...]
    workspace: tuple[str, ...] = ()
    """The options that concern the workspace and other user paths."""


def build_invocation(
    policy: SandboxPolicy,
    findings: Findings,
    machine: Machine,
    inner: Inner,
    filter_program: bytes,
    numbers: Sequence[int] = NUMBERS,
) -> BwrapInvocation:
    """Build the input of bubblewrap for a policy."""
    protection = plan_protection(policy, findings)
    files = {**FILES, **_git_files(protection.hidden_files, *inner.git_identity)}
    empty = dict(
        zip(
            protection.hidden_files[:MAX_EMPTY_FILES],
            range(numbers[-1] + 1, numbers[-1] + 1 + MAX_EMPTY_FILES),
            strict=False,
        )
    )
    data = [filter_program, *(text.encode() for text in files.values()), *(b"" for _ in empty)]
    descriptors = dict(zip(FILES, numbers[2:], strict=True))
    workspace = tuple(_workspace_options(policy, protection, empty))
    options = (
        "--die-with-parent", *NAMESPACES, "--hostname", USER,
        *(("--unshare-net",) if policy.network != "host" else ()),
        *(("--new-session",) if not takes_terminal(machine, inner) else ()),
        "--uid", str(IDENTITY), "--gid", str(IDENTITY), "--cap-drop", "ALL", "--clearenv",
        *(argument for name, value in inner.environment.items() for argument in ("--setenv", name, value)),
        *_system_options(policy, machine, descriptors),
        *workspace,
        "--remount-ro", "/",
        "--chdir", str(inner.cwd),
        *(("--seccomp", str(numbers[1])) if filter_program else ()),
    )  # fmt: skip
    if len(options) > MAX_ARGUMENTS:
        first = next(iter((*protection.concealed, *protection.hidden_files)), policy.workspace)
        raise SandboxError(
            f"`{policy.workspace}` has more paths to protect than a sandbox allows, such as `{first}`",
            hint="name a smaller directory as the workspace, or put secrets and repositories elsewhere",
            details={"missing": ["protected_paths", "secrets"]},
        )
    arguments = "".join(f"{option}\0" for option in options).encode(errors="surrogateescape")
    session = (machine.session_maker, "--ctty", "--") if inner.terminal and machine.session_maker else ()
    command = (*session, *inner.argv)
    return BwrapInvocation(options=options, command=command, inputs=(arguments, *data), workspace=workspace)


def _git_files(hidden: Iterable[Path], name: str, email: str) -> dict[str, str]:
    """Return the git configuration: the committer, and a filter so that hidden files keep their committed content."""
    name, email = (value.translate(_NOT_IN_GIT_CONFIG) for value in (name, email))
    patterns: list[str] = []
    for path in hidden:
        top = next((parent for parent in path.parents if os.path.lexists(parent / REPOSITORY)), path)
        relative = re.sub(r'[\\*?\[\]"!# ]', r"\\\g<0>", str(path.relative_to(top)))
        patterns += [f"/{relative}"] if top != path and relative.isprintable() else []
    return {
        "/etc/gitconfig": f'[user]\n\tname = "{name}"\n\temail = "{email}"\n[safe]\n\tdirectory = *\n'
        "[core]\n\texcludesFile = /etc/gitexcludes\n"
        f'[filter "hidden"]\n\tclean = "{_COMMITTED_CONTENT_FILTER}"\n',
        "/etc/gitattributes": "".join(f"{_quote_attribute_pattern(pattern)} filter=hidden\n" for pattern in patterns),
        "/etc/gitexcludes": "".join(f"{pattern}\n" for pattern in patterns),
    }


def _quote_attribute_pattern(pattern: str) -> str:
    """Return a pattern in the form git attributes need when it contains spaces."""
    return '"' + pattern.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _system_options(policy: SandboxPolicy, machine: Machine, descriptors: Mapping[str, int]) -> Iterator[str]:
    for root in machine.roots:
        yield from ("--ro-bind", root, root)
    for link, target in machine.links:
        yield from ("--symlink", target, link)
    for path in machine.files:
        yield from ("--ro-bind", path, path)
    for path, number in descriptors.items():
        yield from ("--perms", "0444", "--file", str(number), path)
    if policy.network == "host":
        yield from ("--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf")
    # Only the command's own processes are visible; kernel settings can be read, not changed.
    yield from ("--proc", "/proc")
    for path in machine.kernel_secrets:
        yield from ("--ro-bind", "/dev/null", path)
    for path in machine.kernel_directories:
        yield from ("--tmpfs", path, "--remount-ro", path)
    # bwrap covers only what its own user may write in /proc, which is the wrong user for a command of root.
    yield from ("--remount-ro", "/proc")
    yield from ("--dev", "/dev", *_tmpfs_options("/dev/shm", policy.limits.shared_memory_bytes), "--remount-ro", "/dev")
    yield from (*_tmpfs_options("/tmp", policy.limits.temporary_bytes), "--dir", HOME, "--dir", "/var")
    # An alias of `/tmp`, unless the user has something there: nothing can be mounted through a link.
    if any(path.is_relative_to("/var/tmp") for path in (policy.workspace, *policy.readable, *policy.writable)):
        yield from _tmpfs_options("/var/tmp", policy.limits.temporary_bytes)
    else:
        yield from ("--symlink", "/tmp", "/var/tmp")
    yield from ("--dir", "/run")
    if machine.interpreter is not None:
        yield from ("--ro-bind", str(machine.interpreter), str(machine.interpreter))


def _tmpfs_options(path: str, size: int) -> tuple[str, ...]:
    return ("--size", str(size), "--perms", "1777", "--tmpfs", path)


def _workspace_options(policy: SandboxPolicy, protection: Protection, empty: Mapping[Path, int]) -> Iterator[str]:
    for path in policy.readable:
        yield from ("--ro-bind", str(path), str(path))
    yield from ("--ro-bind" if policy.access == "read" else "--bind", str(policy.workspace), str(policy.workspace))
    # Before what is protected in it.
    yield from _writable_options(path for path in policy.writable if path in policy.opened)
    yield from _protection_options(protection)
    hidden = [*protection.hidden_directories, *policy.hidden]
    for path in hidden:
        yield from ("--tmpfs", str(path))
    for path in policy.readable:  # files the runtime provides, such as a skill
        if any(path.is_relative_to(directory) and path != directory for directory in hidden):
            yield from ("--ro-bind", str(path), str(path))
    yield from _writable_options(path for path in policy.writable if path not in policy.opened)
    for path in policy.aliases:
        if not path.is_relative_to(policy.workspace):  # otherwise the link exists already
            yield from ("--symlink", str(policy.workspace), str(path))
    # Covered by an empty file if a regular one, else by a device, which cannot be copied.
    for path in protection.hidden_files:
        covered = (
            ("--perms", "0444", "--ro-bind-data", str(empty[path])) if path in empty else ("--ro-bind", "/dev/null")
        )
        yield from (*covered, str(path))
    # Limited in size, since a read-only remount costs as much as another mount.
    for path in protection.concealed:
        yield from ("--size", "4096", "--perms", "0555", "--tmpfs", str(path))
    for path in hidden:
        yield from ("--remount-ro", str(path))


def _protection_options(protection: Protection) -> Iterator[str]:
    # Parents first: mounting a directory again would uncover what is mounted inside it.
    options = dict.fromkeys(protection.pinned, "--bind") | dict.fromkeys(protection.closed, "--ro-bind")
    for path in sorted(options, key=lambda path: (len(path.parts), path)):
        yield from (options[path], str(path), str(path))
    for path in protection.read_only:
        yield from ("--ro-bind", str(path), str(path))


def _writable_options(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        yield from ("--bind", str(path), str(path))


def takes_terminal(machine: Machine, inner: Inner) -> bool:
    """Return whether the command starts a session of its own with the terminal it is given."""
    return inner.terminal and machine.session_maker is not None


def expected_mounts(options: Sequence[str], policy: SandboxPolicy) -> Iterator[Mount]:
    """Yield mount point, source and covered outside path, one per option that mounts.

    The path is empty for a mount that may be missing or covers nothing of the workspace.
    """
    for index, option in enumerate(options):
        if option in BINDS:
            source, point = options[index + 1 : index + 3]
            covered = "" if option.endswith("-try") else _outside_path(point, policy)
            yield (
                point,
                (os.path.realpath(source) if any(source == str(path) for path in policy.readable) else source),
                covered,
            )
        elif option in IN_MEMORY:
            point = options[index + IN_MEMORY[option]]
            yield point, "", _outside_path(point, policy)


def _outside_path(point: str, policy: SandboxPolicy) -> str:
    return point if any(f"{point}/".startswith(f"{path}/") for path in (policy.workspace, *policy.opened)) else ""


@cache
def _probe_cached(program: str, user: int) -> Capabilities:
    del user  # part of the cache key: what works for one user may fail for another
    path = find_program(program)
    if path is None:
        problem = (
            f"there is no program `{program}` in {', '.join(DIRECTORIES)}"
            if "/" not in program
            else (f"`{program}` is not a program that only its owner can change")
        )
        return Capabilities(adapter=Bubblewrap.name, works=False, problem=problem, fix=INSTALL)
    return probe_program(path)


def probe_program(program: str) -> Capabilities:
    """Report what this bubblewrap program can do."""
    try:
        version = _run([program, "--version"], []).stdout.strip()
        answer = _run_probe(program)
    except (OSError, subprocess.TimeoutExpired) as error:
        return _broken("", f"`{program}` could not be run: {error}", NOT_PERMITTED)
    if "end of probe" not in answer.stdout:
        reason = (answer.stderr.strip().splitlines() or [f"it ended with exit code {answer.returncode}"])[-1]
        return _broken(version, f"`{program}` started no sandbox: {reason}", NOT_PERMITTED)
    report = _parse_probe(answer.stdout)
    problems = _find_problems(report)
    facts = {"interfaces": report.interfaces, "no_new_privileges": True, "seccomp": report.status.get("Seccomp") == "2"}
    if problems:
        return _broken(version, f"the sandbox of `{program}` does not isolate: {', '.join(problems)}", NOT_PERMITTED)
    return Capabilities(adapter="bubblewrap", works=True, version=version, facts=facts)


class _ProbeReport(msgspec.Struct):
    status: dict[str, str]
    namespaces: dict[str, str]
    interfaces: list[str]
    writable: list[str]


def _broken(version: str, problem: str, fix: str) -> Capabilities:
    return Capabilities(adapter="bubblewrap", works=False, version=version, problem=problem, fix=fix)


def _run_probe(program: str) -> "subprocess.CompletedProcess[str]":
    machine = this_machine()
    with ExitStack() as stack:
        workspace = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="skills-runtime-probe-"))).resolve()
        policy = SandboxPolicy(profile="read-only", workspace=workspace, access="read", limits=CAREFUL)
        inner = Inner(argv=("/bin/sh", "-c", SCRIPT), cwd=workspace, environment={"PATH": SYSTEM_PATH})
        filter_program = seccomp_program(machine.architecture) if machine.architecture else b""
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in NUMBERS]
        numbers = [file.fileno() for file in files]
        bwrap = build_invocation(policy, Findings(), machine, inner, filter_program, numbers)
        for file, data in zip(files, bwrap.inputs, strict=True):
            file.write(data)
            file.seek(0)
        return _run([program, "--args", str(numbers[0]), "--", *bwrap.command], numbers)


def _run(argv: list[str], inputs: list[int]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=TIMEOUT_SECONDS,
        pass_fds=inputs,
        env={"LC_ALL": "C"},
        cwd="/",
    )


def _parse_probe(text: str) -> _ProbeReport:
    report = _ProbeReport(status={}, namespaces={}, interfaces=[], writable=[])
    for line in text.splitlines():
        match line.split():
            case ["status", name, *rest]:
                report.status[name.rstrip(":")] = " ".join(rest)
            case ["namespace", kind, name]:
                report.namespaces[kind] = name
            case ["interface", name]:
                report.interfaces.append(name)
            case ["writable", path]:
                report.writable.append(path)
            case _:
                continue
    return report


def _find_problems(report: _ProbeReport) -> list[str]:
    """List what the report from inside the sandbox shows to be wrong."""
    ours = {kind: str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in PROBED_NAMESPACES}
    same = [kind for kind in PROBED_NAMESPACES if report.namespaces.get(kind) == ours[kind]]
    filtered = this_machine().architecture is None or report.status.get("Seccomp") == "2"
    return [
        *(f"the {kind} namespace is that of the machine" for kind in same),
        *(f"`{path}` is writable" for path in report.writable),
        *(["there is more than a loopback interface"] if set(report.interfaces) - {"lo"} else []),
        *([] if report.status.get("NoNewPrivs") == "1" else ["privileges can be gained"]),
        *([] if int(report.status.get("CapEff", "1"), 16) == 0 else ["there are capabilities"]),
        *([] if filtered else ["system calls are not filtered"]),
    ]
