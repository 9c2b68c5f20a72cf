"""The Landlock adapter: a small program restricts itself and then executes the command.

Landlock rules cover whole directories, so paths inside the workspace cannot be excluded; this is reported as a gap.
"""

import errno
import json
import os
import subprocess  # noqa: TID251 - a probe runs a program
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from skills_runtime.ports import FileAccess, SandboxSetup
from skills_runtime.sandbox.adapter import (
    Capabilities,
    Inner,
    SandboxedCommand,
    build_file_access,
    list_hidden,
    list_protected,
    list_system_paths,
)
from skills_runtime.sandbox.inside import landlock as restriction
from skills_runtime.sandbox.limits import (
    build_control_groups,
    build_scope_command,
    build_watch,
    limit_gaps,
    limits_memory,
    scope_variables,
)
from skills_runtime.sandbox.machine import Machine, this_machine
from skills_runtime.sandbox.policy import CAREFUL, NO_OWN_NETWORK, Gap, SandboxPolicy
from skills_runtime.sandbox.protected_paths import Findings
from skills_runtime.sandbox.seccomp import AllowedCalls, seccomp_program

# ABI 3 added truncation; before it, files could be truncated despite the rules.
MIN_VERSION = 3
SIGNALS_VERSION = 6
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# Programs look up users and hosts here; without a mount namespace it cannot be replaced.
FILES = ("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts")
# The directory of the small program; every user who starts a command must be able to read it.
CODE_DIRECTORY = Path(restriction.__file__).parents[1]
# The second is for a process that may no longer execute its own interpreter.
INTERPRETERS = (sys.executable, "/usr/bin/python3")
TIMEOUT_SECONDS = 10.0
FIX = "use a Linux kernel of 6.2 or later, started with `lsm=landlock,…` among its options"

_PROBE = """
(: >> "$1") 2> /dev/null && echo "writable outside"
(: < "$1") 2> /dev/null && echo "readable outside"
(: > inside) 2> /dev/null || echo "not writable inside"
while read -r line; do case $line in NoNewPrivs*|Seccomp:*|CapEff*) echo $line;; esac; done < /proc/self/status
echo "end of probe"
"""
_EXPECTED = {"NoNewPrivs: 1", "Seccomp: 2", f"CapEff: {0:016x}", "end of probe"}


class Landlock:
    """Landlock rules on directories and a seccomp filter."""

    name = "landlock"

    def probe(self) -> Capabilities:
        """Start a small sandbox and report what it can do on this machine."""
        return _probe_cached(os.geteuid())

    def gaps(self, policy: SandboxPolicy, machine: Machine, findings: Findings) -> tuple[Gap, ...]:
        """Return the promises that Landlock cannot keep for this policy."""
        del findings
        fix = "install bubblewrap, which can"
        gaps = [*limit_gaps(policy, machine, own_users=False)]
        if policy.access == "write":
            text = "Landlock cannot protect single names in a directory that is writable"
            gaps.append(Gap(promise="protected_paths", text=text, fix=fix))
        text = "Landlock cannot hide single files in a directory that is readable"
        gaps.append(Gap(promise="secrets", text=text, fix=fix))
        gaps.append(Gap(promise="processes", text="other processes can be seen, though not read", fix=fix))
        text = "modes and times of the user's files can be changed anywhere"
        gaps.append(Gap(promise="fs_write", text=text, fix=fix, partial=True))
        text = "temporary files lie in the workspace, for there is no private `/tmp`"
        gaps.append(Gap(promise="temporary_space", text=text, fix=fix))
        if policy.network == "host":
            gaps.append(Gap(promise="network", text="a process may use the network, as the policy says"))
        if policy.network == "allow-list":
            gaps.append(Gap(promise="network", text=NO_OWN_NETWORK, fix=fix))
        return tuple(gaps)

    def wrap(self, policy: SandboxPolicy, machine: Machine, findings: Findings, inner: Inner) -> SandboxedCommand:
        """Build the command line of the program that applies Landlock and starts the command."""
        specification = build_specification(policy, machine, inner)
        options = [f"--{name}={specification[name]}" for name in ("reading", "writing", "limits")]
        return SandboxedCommand(
            argv=(
                *build_scope_command(policy.limits, machine),
                next((path for path in INTERPRETERS if path and os.access(path, os.X_OK)), INTERPRETERS[-1]),
                "-I",
                "-S",
                str(CODE_DIRECTORY / "inside" / "landlock.py"),
            ),
            cwd=Path("/"),
            environment=scope_variables(machine),
            options=tuple(options),
            setup=SandboxSetup(
                inputs=(json.dumps(specification).encode(),),
                control_groups=build_control_groups(policy.limits, machine),
                # Landlock cannot protect these paths, but they must not count as written by the command.
                watch=build_watch(policy, machine, (*list_protected(policy, findings), *list_hidden(policy, findings))),
            ),
        )

    def file_access(self, policy: SandboxPolicy, machine: Machine, findings: Findings) -> FileAccess:
        """Return whole directories: nothing in them is protected or hidden."""
        del findings
        return build_file_access(policy, (*list_system_paths(machine), *FILES))


def build_specification(policy: SandboxPolicy, machine: Machine, inner: Inner) -> dict[str, Any]:
    """Build the specification for the small program; pure."""
    workspace, shared = str(policy.workspace), policy.network == "host"
    permitted = AllowedCalls(internet_sockets=shared, unix_sockets=policy.unix_sockets, shared_objects=False)
    interpreter = [str(machine.interpreter)] if machine.interpreter else []
    writing = [*(str(path) for path in policy.writable), *([workspace] if policy.access == "write" else []), *DEVICES]
    environment = {**inner.environment, "TMPDIR": workspace, "CODE_DIRECTORY": workspace}
    limits = policy.limits
    values = {
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": limits.cpu_seconds,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_DATA": None if limits_memory(machine) else limits.memory_bytes,
    }
    return {
        "argv": [_characters(argument) for argument in inner.argv],
        "cwd": _characters(str(inner.cwd)),
        "environment": {_characters(name): _characters(value) for name, value in environment.items()},
        "reading": [*machine.roots, *machine.files, *FILES, *interpreter, *map(str, policy.readable), workspace],
        "writing": writing,
        "limits": {name: value for name, value in values.items() if value is not None},
        "filter": seccomp_program(machine.architecture or "x86_64", permitted).decode("latin-1"),
    }


def _characters(text: str) -> str:
    return os.fsencode(text).decode("latin-1")


@cache
def _probe_cached(user: int) -> Capabilities:
    del user  # part of the cache key: what works for one user may fail for another
    try:
        version = restriction.version() if sys.platform == "linux" else 0
    except OSError as error:
        off = error.errno == errno.EOPNOTSUPP
        return _broken("Landlock is switched off on this machine" if off else "this kernel has no Landlock")
    if version < MIN_VERSION:
        return _broken(f"Landlock has version {version} here, and version {MIN_VERSION} is needed")
    if this_machine().architecture is None:
        return _broken("there is no filter of system calls for this kind of processor")
    try:
        problems = _find_problems()
    except (OSError, subprocess.TimeoutExpired) as error:
        return _broken(f"the Landlock sandbox could not be tested: {error}")
    if problems:
        return _broken(f"the Landlock sandbox does not isolate: {', '.join(problems)}")
    return Capabilities(adapter=Landlock.name, works=True, version=f"Landlock {version}", facts={"version": version})


def _broken(problem: str) -> Capabilities:
    return Capabilities(adapter=Landlock.name, works=False, problem=problem, fix=FIX)


def _find_problems() -> list[str]:
    """List the problems that a small sandbox observed from inside."""
    with tempfile.TemporaryDirectory(prefix="skills-runtime-probe-") as name:
        path = Path(name).resolve()
        (path / "workspace").mkdir()
        (path / "outside").touch()
        policy = SandboxPolicy(
            profile="workspace-write", workspace=path / "workspace", limits=CAREFUL, readable=(Path("/proc"),)
        )
        argv = ("/bin/sh", "-c", _PROBE, "sh", str(path / "outside"))
        sandboxed = Landlock().wrap(
            policy, this_machine(), Findings(), Inner(argv=argv, cwd=policy.workspace, environment={})
        )
        with (path / "specification").open("wb+") as file:
            file.write(sandboxed.setup.inputs[0])
            file.seek(0)
            result = subprocess.run(
                [*sandboxed.argv, str(file.fileno())],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=TIMEOUT_SECONDS,
                pass_fds=[file.fileno()],
                env={},
                cwd="/",
            )
    lines = {" ".join(line.split()) for line in result.stdout.splitlines()}
    missing = [f"`{line}` is missing" for line in sorted(_EXPECTED - lines)]
    return [*sorted(lines - _EXPECTED), *missing, *result.stderr.splitlines()[-1:]]
