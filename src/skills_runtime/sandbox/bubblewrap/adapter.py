"""Bubblewrap as an adapter: finds the program, has it probed, and turns policies into plans."""

import os
import stat
from functools import cache
from pathlib import Path

import msgspec

from skills_runtime.ports import Enclosure, KernelLimits
from skills_runtime.ports.file_access import FileAccess
from skills_runtime.sandbox.adapter import Capabilities, Enclosed, Inner
from skills_runtime.sandbox.bubblewrap.mounting import expected_mounts
from skills_runtime.sandbox.bubblewrap.probe import probe_program
from skills_runtime.sandbox.bubblewrap.protection import protection_gaps
from skills_runtime.sandbox.bubblewrap.wrapping import FIRST_INPUT, LAYERS, kernel_limits, takes_terminal, wrap
from skills_runtime.sandbox.file_access import hidden_in, opened_by, protected_in, system_of
from skills_runtime.sandbox.limiting import (
    groups_for,
    limit_gaps,
    limits_memory,
    refuse_limits,
    scope_for,
    scope_variables,
    watch_for,
)
from skills_runtime.sandbox.machine import Machine
from skills_runtime.sandbox.opening import survey_gaps
from skills_runtime.sandbox.policy import SandboxPolicy
from skills_runtime.sandbox.promises import Gap
from skills_runtime.sandbox.seccomp import Permitted, seccomp_program
from skills_runtime.sandbox.survey import Findings

DIRECTORIES = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")
"""Where the program is looked for; never on `PATH`, where a workspace could put one of the same name."""

NO_FILTER = b"\x06\0\0\0\0\0\xff\x7f"
"""A filter that permits every call: the fence waits for one even where there is none for its kind of processor."""

PROGRAM = "bwrap"
FILTER = 1
"""The place of the filter among the inputs; it is the last thing that the fence reads."""

INSTALL = "install it: `apt install bubblewrap`, `dnf install bubblewrap` or `apk add bubblewrap`"


class Bubblewrap:
    """A fence of namespaces, mounts and a filter of system calls."""

    name = "bubblewrap"

    def __init__(self, program: str = PROGRAM) -> None:
        self._program = program

    def probe(self) -> Capabilities:
        """What it can do here, seen from the inside of a small fence."""
        return _probed(self._program, os.geteuid())

    def gaps(self, policy: SandboxPolicy, machine: Machine, findings: Findings) -> tuple[Gap, ...]:
        """The promises it would not keep."""
        gaps = list(limit_gaps(policy, machine, own_users=True))
        if machine.architecture is None:
            gaps.append(Gap(promise="system_calls", text="there is no filter for this kind of processor"))
        if policy.network == "host":
            gaps.append(Gap(promise="network", text="a process may use the network, as the policy says"))
        if policy.unix_sockets:
            gaps.append(Gap(promise="ipc", text="a process may use sockets in the workspace", partial=True))
        return (*gaps, *survey_gaps(policy, findings), *protection_gaps(policy, findings))

    def enclose(self, policy: SandboxPolicy, machine: Machine, findings: Findings, inner: Inner) -> Enclosed:
        """The command as bubblewrap starts it."""
        refuse_limits(policy.limits)
        permitted = Permitted(unix_sockets=policy.unix_sockets, large_segments=limits_memory(machine))
        filter_program = seccomp_program(machine.architecture, permitted) if machine.architecture else NO_FILTER
        wrapped = wrap(policy, findings, machine, inner, filter_program)
        before = (*scope_for(policy.limits, machine), *_as_owner(policy, machine))
        program = find_program(self._program) or self._program
        limits = kernel_limits(policy.limits, machine)
        return Enclosed(
            argv=(*before, program, "--args", str(FIRST_INPUT), *_held_by(limits), "--", *wrapped.command),
            cwd=Path("/"),
            environment=scope_variables(machine),
            options=wrapped.options,
            enclosure=Enclosure(
                inputs=wrapped.inputs,
                placeholders=_kept_free(policy, findings.placeholders, always=bool(policy.opened)),
                placeholder_directories=_kept_free(
                    policy, findings.placeholder_directories, always=bool(policy.opened)
                ),
                control_groups=groups_for(policy.limits, machine),
                watch=watch_for(policy, machine),
                limits=limits,
                mounts=tuple(expected_mounts(wrapped.workspace, policy, findings.placeholder_directories)),
                withheld=FILTER,
                layers=LAYERS,
                takes_terminal=takes_terminal(machine, inner),
            ),
        )

    def file_access(self, policy: SandboxPolicy, machine: Machine, findings: Findings) -> FileAccess:
        """The directories that are mounted, without what is covered in them."""
        return msgspec.structs.replace(
            opened_by(policy, system_of(machine)),
            temporary="/tmp",
            protected=protected_in(policy, findings),
            hidden=hidden_in(policy, findings),
        )


def find_program(name: str) -> str | None:
    """The absolute path of the program; nothing when there is none that only its owner could have changed."""
    candidates = [name] if name.startswith("/") else [f"{directory}/{name}" for directory in DIRECTORIES]
    if "/" in name and not name.startswith("/"):
        return None
    return next((path for path in candidates if _is_trustworthy(path)), None)


def _is_trustworthy(path: str) -> bool:
    try:
        found = Path(path).stat()
    except OSError:
        return False
    if not stat.S_ISREG(found.st_mode) or not os.access(path, os.X_OK):
        return False
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & stat.S_IWOTH


def _kept_free(policy: SandboxPolicy, paths: tuple[Path, ...], *, always: bool = False) -> tuple[str, ...]:
    return tuple(map(str, paths)) if always or policy.access == "write" else ()


def _held_by(limits: KernelLimits) -> tuple[str, ...]:
    """The command waits until its limits are set."""
    return ("--info-fd", str(limits.tells), "--block-fd", str(limits.waits))


def _as_owner(policy: SandboxPolicy, machine: Machine) -> tuple[str, ...]:
    """An administrator's command in somebody's workspace runs as that somebody."""
    if machine.user != 0 or policy.owner in (None, (0, 0)) or machine.identity_changer is None:
        return ()
    user, group = policy.owner or (0, 0)
    return (machine.identity_changer, f"--reuid={user}", f"--regid={group}", "--clear-groups", "--")


@cache
def _probed(program: str, user: int) -> Capabilities:
    del user  # what one may do another may not
    path = find_program(program)
    if path is None:
        problem = (
            f"there is no program `{program}` in {', '.join(DIRECTORIES)}"
            if "/" not in program
            else (f"`{program}` is not a program that only its owner can change")
        )
        return Capabilities(adapter=Bubblewrap.name, works=False, problem=problem, fix=INSTALL)
    return probe_program(path)
