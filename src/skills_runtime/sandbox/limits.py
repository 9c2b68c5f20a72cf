"""Decide which limits the kernel enforces on this machine, which are polled, and which gaps remain."""

from collections.abc import Iterable
from pathlib import Path

from skills_runtime.errors import SandboxError
from skills_runtime.ports import ControlGroup, KernelLimits, Watch
from skills_runtime.sandbox.machine import Machine
from skills_runtime.sandbox.policy import Gap, ResourceLimits, SandboxPolicy

# The largest number the kernel takes for a limit.
MAX_LIMIT = (1 << 63) - 1

# With much less the kernel kills the process that builds the sandbox, and the command's outcome is unknown.
MIN_MEMORY = 4 << 20
DATA_FACTOR = 3
"""Address space one process may reserve, as a multiple of the memory limit."""

FIX_GROUPS = "run as a user to whom control groups are delegated, for example under `systemd-run --user --scope`"


def validate_limits(limits: ResourceLimits) -> None:
    """Raise for a limit that no kernel accepts: the command would have to start without it."""
    for name in ResourceLimits.__struct_fields__:
        value = getattr(limits, name)
        if isinstance(value, int) and not 0 <= value <= MAX_LIMIT:
            raise SandboxError(
                f"the limit `{name}` is {value}, which no kernel accepts",
                hint=f"choose one between 0 and {MAX_LIMIT}, or none",
            )
    if limits.memory_bytes is not None and limits.memory_bytes < MIN_MEMORY:
        raise SandboxError(
            f"the limit `memory_bytes` is {limits.memory_bytes}, less than the sandbox itself needs",
            hint=f"choose at least {MIN_MEMORY}, or none",
        )


def build_control_groups(limits: ResourceLimits, machine: Machine) -> tuple[ControlGroup, ...]:
    """Build the control groups that enforce the memory and process limits."""
    if machine.control_groups is None:
        return ()
    return machine.control_groups.groups(memory_bytes=limits.memory_bytes, processes=limits.processes)


def build_scope_command(limits: ResourceLimits, machine: Machine) -> tuple[str, ...]:
    """Build the `systemd-run` prefix that enforces these limits; empty where control groups do."""
    if machine.scope_maker is None or machine.control_groups is not None:
        return ()
    memory = (
        [f"--property=MemoryMax={limits.memory_bytes}", "--property=MemorySwapMax=0"] if limits.memory_bytes else []
    )
    processes = [f"--property=TasksMax={limits.processes}"] if limits.processes else []
    return (machine.scope_maker, "--user", "--scope", "--quiet", "--collect", *memory, *processes, "--")


def scope_variables(machine: Machine) -> dict[str, str]:
    """Return the variables with which `systemd-run` finds the service manager."""
    uses_scope = machine.scope_maker is not None and machine.control_groups is None
    return {"XDG_RUNTIME_DIR": f"/run/user/{machine.user}"} if uses_scope else {}


def build_watch(policy: SandboxPolicy, machine: Machine, protected: Iterable[Path] = ()) -> Watch | None:
    """Return what to poll while the command runs; it cannot write what is `protected`."""
    limits = policy.limits
    memory = None if limits_memory(machine) else limits.memory_bytes
    disk = policy.access == "write" and limits.disk_bytes is not None and limits.disk_files is not None
    if memory is None and not disk:
        return None
    return Watch(
        memory_bytes=memory,
        disk_path=str(policy.workspace) if disk else None,
        disk_bytes=limits.disk_bytes if disk else None,
        disk_files=limits.disk_files if disk else None,
        disk_excluded=tuple(map(str, protected)) if disk else (),
    )


def data_limit(limits: ResourceLimits, machine: Machine) -> int | None:
    """Return how much one process may allocate where no control group counts all of them.

    More than the limit itself: the kernel counts untouched thread stacks.
    """
    watched = None if limits_memory(machine) else limits.memory_bytes
    return None if watched is None else min(DATA_FACTOR * watched, MAX_LIMIT)


def limits_memory(machine: Machine) -> bool:
    """Return whether the kernel limits the memory of all processes of a command together."""
    if machine.control_groups is None:
        return machine.scope_maker is not None
    return machine.control_groups.memory is not None


def _limits_processes(machine: Machine, *, own_users: bool) -> bool:
    if machine.control_groups is None and machine.scope_maker is not None:
        return True
    if machine.control_groups is not None and machine.control_groups.pids is not None:
        return True
    # RLIMIT_NPROC counts the processes of a user per user namespace, but does not bind root.
    return own_users and machine.user != 0


def limit_gaps(policy: SandboxPolicy, machine: Machine, *, own_users: bool) -> tuple[Gap, ...]:
    """Return the limits that the kernel does not enforce; `own_users`: the command has a user namespace."""
    gaps: list[Gap] = []
    if policy.limits.memory_bytes is None:
        gaps.append(Gap(promise="memory", text="the policy sets no limit"))
    elif not limits_memory(machine):
        text = (
            f"there is no control group: one process may allocate {DATA_FACTOR} times the limit, the use of all is"
            " measured twenty times a second, files in the private `/tmp` and `/dev/shm` have limits of their own,"
            " and a socket in transit between two processes is not counted"
        )
        gaps.append(Gap(promise="memory", text=text, fix=FIX_GROUPS))
    elif machine.control_groups is not None and not machine.control_groups.limits_sockets:
        text = "the control groups of this kernel do not count the buffers of internet sockets"
        gaps.append(Gap(promise="memory", text=text, fix="use version 2 of control groups", partial=True))
    if policy.limits.processes is None:
        gaps.append(Gap(promise="process_count", text="the policy sets no limit"))
    elif not _limits_processes(machine, own_users=own_users):
        gaps.append(Gap(promise="process_count", text="nothing counts the processes of a command", fix=FIX_GROUPS))
    if policy.limits.file_bytes is None:
        gaps.append(Gap(promise="file_size", text="the policy sets no limit except the disk's", partial=True))
    if policy.limits.open_files is None:
        gaps.append(Gap(promise="open_files", text="the policy sets no limit except the user's", partial=True))
    if policy.limits.cpu_seconds is None:
        gaps.append(Gap(promise="cpu", text="the policy sets no limit except the timeout"))
    if policy.access == "write":
        text = (
            "writes to the workspace are measured every 5 ms while the disk fills up, and new files beyond the limit"
            " are removed after the command: older files that grew are kept, an unlinked file that no process has open"
            " is not found, and other writable directories do not count"
        )
        gaps.append(Gap(promise="disk", text=text))
    return tuple(gaps)


def kernel_limits(limits: ResourceLimits, machine: Machine) -> KernelLimits:
    """Return the limits that the kernel enforces on each process of a command."""
    values = {
        "core": 0,
        "cpu": limits.cpu_seconds,
        "fsize": limits.file_bytes,
        "nofile": limits.open_files,
        "nproc": limits.processes,
        "data": data_limit(limits, machine),
    }
    return KernelLimits(values=tuple((name, value) for name, value in values.items() if value is not None))
