"""Plan every command of a run: choose an adapter, check what the policy requires, wrap the command.

A plan is complete and can be printed and compared. Nothing here starts a process.
"""

import hashlib
import os
import pwd
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from skills_runtime.errors import AccessRefused, NotFound, SandboxError
from skills_runtime.ports import Egress, FileAccess, Grant, ProcessRequest, Sandbox, SandboxPlan
from skills_runtime.protected_names import REPOSITORY
from skills_runtime.sandbox.adapter import (
    Adapter,
    Capabilities,
    Inner,
    SandboxedCommand,
    build_environment,
    list_held_promises,
)
from skills_runtime.sandbox.denials import Denial, ProcessOutcome, find_denials
from skills_runtime.sandbox.egress.gateway import (
    build_stage_command,
    compile_egress,
    find_interpreter,
    proxy_variables,
    stage_source,
)
from skills_runtime.sandbox.grants import apply_grant, control_directories, program_directories, why_not_path
from skills_runtime.sandbox.machine import Machine, this_machine
from skills_runtime.sandbox.policy import Gap, Promise, SandboxPolicy, refusal, unmet
from skills_runtime.sandbox.protected_paths import Findings, scan_policy, small_text
from skills_runtime.sandbox.quarantine import plan_quarantine, quarantine_report, recover

POINTER = "gitdir:"
"""First word of the `.git` file of a work tree."""
FORBIDDEN_WORKSPACES = (
    "/", "/boot", "/home", "/Users", "/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/dev", "/proc", "/sys", "/run",
    "/tmp", "/var", "/opt", "/srv", "/mnt", "/media", "/System", "/Library",
)  # fmt: skip
HOME_PARENTS = (Path("/home"), Path("/Users"))
"""Their children are home directories."""
KERNEL_FILE_SYSTEMS = ("/proc", "/sys", "/dev")
"""Nothing below them can be a workspace."""
MEMORY = Path("/dev/shm")


class ChosenAdapter(msgspec.Struct, frozen=True, kw_only=True):
    """The adapter that meets the requirements, and its gaps."""

    adapter: Adapter
    capabilities: Capabilities
    gaps: tuple[Gap, ...]
    file_access: FileAccess


class OsSandbox:
    """Wraps commands with the first adapter that meets the requirements of the policy."""

    def __init__(  # noqa: PLR0913 - what tests and settings choose
        self,
        policy: SandboxPolicy,
        adapters: Sequence[Adapter],
        variables: Mapping[str, str],
        machine: Machine | None = None,
        unsandboxed: Sandbox | None = None,
        quarantine: Path | None = None,
        state: Path | None = None,
    ) -> None:
        self._policy = policy
        self._adapters = adapters
        self._variables = dict(variables)
        self._machine = machine
        self._beyond = unsandboxed
        """Runs a command that is approved to leave the sandbox; None means no command may."""
        self._given_state = state
        self._quarantine = quarantine
        """Where new files are moved that outside programs would obey; in the runtime's own state by default."""

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        """Wrap a command in the sandbox; raise `SandboxError` when the required isolation is not available."""
        if request.permissions == "require_escalated":
            if self._beyond is None:
                raise SandboxError(
                    "this run cannot leave its sandbox", hint="do it within the sandbox, or ask the user to run it"
                )
            return self._beyond.plan(request)
        if request.grant:
            plan = self.with_grant(request.grant).plan(msgspec.structs.replace(request, grant=None))
            evidence = {**plan.evidence, "granted": msgspec.to_builtins(request.grant)}
            return msgspec.structs.replace(plan, evidence=evidence)
        recovered = recover(self._records)  # commands whose runtime was killed
        chosen, policy, sandboxed = self._wrap(request)
        egress = find_egress(policy, chosen.gaps)
        return SandboxPlan(
            argv=sandboxed.argv,
            cwd=sandboxed.cwd,
            environment=sandboxed.environment,
            evidence={
                "requested": request.permissions,
                "effective": "restricted",
                "adapter": chosen.adapter.name,
                "version": chosen.capabilities.version,
                "active": True,
                "profile": policy.profile,
                "policy": policy.digest,
                "network": policy.network,
                "promises": list(list_held_promises(chosen.gaps)),
                "gaps": [str(gap) for gap in chosen.gaps],
                "accepted_gaps": sorted(policy.accepted_gaps),
                **({"home_workspace": True} if policy.allow_home else {}),
                # The list itself, for readers of results and for approvers.
                **({} if egress is None else {"egress": msgspec.json.decode(msgspec.json.encode(egress))}),
                **({"quarantined": quarantine_report(recovered)} if recovered else {}),
            },
            setup=sandboxed.setup,
            egress=egress,
            file_access=chosen.file_access,
        )

    @property
    def _state(self) -> Path:
        if self._given_state is not None:
            return self._given_state
        from skills_runtime.config import state_home  # loads the settings code

        return state_home(self._variables) / "sandbox"

    @property
    def _records(self) -> Path:
        """Return where running commands of this workspace are recorded."""
        return self._state / "running" / hashlib.sha256(os.fsencode(self._policy.workspace)).hexdigest()[:32]

    @property
    def policy(self) -> SandboxPolicy:
        """The policy that is enforced."""
        return self._policy

    def denials(self, outcome: ProcessOutcome, grant: Grant | None = None) -> tuple[Denial, ...]:
        """Return what the sandbox, widened by a grant, denied a finished command."""
        if grant:
            return self.with_grant(grant).denials(outcome)
        control, programs = control_directories(self._variables), program_directories(self._variables)
        return find_denials(outcome, self._policy, scan_policy(self._policy), control=control, programs=programs)

    def with_grant(self, grant: Grant) -> "OsSandbox":
        """Return a sandbox widened by the grant, with its own digest; raise `SandboxError` for what no grant opens."""
        control, programs = control_directories(self._variables), program_directories(self._variables)
        policy = apply_grant(self._policy, grant, control=control, programs=programs)
        return OsSandbox(
            policy, self._adapters, self._variables, self._machine, self._beyond, self._quarantine, self._given_state
        )

    def explain(self, request: ProcessRequest) -> tuple[SandboxPlan, SandboxedCommand]:
        """Return the plan and the wrapped command for display."""
        _, _, sandboxed = self._wrap(request)
        return self.plan(request), sandboxed

    def state(self) -> "tuple[tuple[Capabilities, ...], tuple[Gap, ...], bool]":
        """Return the adapters' capabilities, the gaps of the first that works, and whether requirements are met."""
        machine = self._machine or this_machine()
        capabilities = tuple(adapter.probe() for adapter in self._adapters)
        working = [
            adapter for adapter, capability in zip(self._adapters, capabilities, strict=True) if capability.works
        ]
        gaps = working[0].gaps(self._policy, machine, Findings()) if working else ()
        missing = unmet(self._policy.required, self._policy.accepted_gaps, gaps)
        return capabilities, gaps, bool(working) and not missing

    def keeps(self, promises: frozenset[Promise]) -> bool:
        """Return whether the adapter that would be used works and keeps these promises, accepted gaps or not.

        A workspace that is or holds a home directory keeps none: it holds far more than a project.
        """
        try:
            check_workspace(self._policy.workspace, self._variables)
            chosen = self._choose(self._policy, self._machine or this_machine(), Findings())
        except (NotFound, SandboxError):
            return False
        return not unmet(promises, frozenset(), chosen.gaps)

    def _wrap(self, request: ProcessRequest) -> tuple[ChosenAdapter, SandboxPolicy, SandboxedCommand]:
        machine = self._machine or this_machine()
        policy = self._policy_for(request)
        if machine.user == 0 and policy.owner not in (None, (0, 0)):
            # It may lie where the owner has no access.
            machine = msgspec.structs.replace(machine, interpreter=None)
        findings = scan_policy(policy)
        chosen = self._choose(policy, machine, findings)
        egress = find_egress(policy, chosen.gaps)
        asked_for = {**network_variables(egress), **request.environment}
        environment = build_environment(self._variables, asked_for, machine)
        inner = Inner(
            argv=request.argv,
            cwd=request.cwd,
            environment=environment,
            terminal=request.terminal,
            git_identity=git_identity(self._variables),
        )
        system = (*machine.roots, *(link for link, _ in machine.links))
        ours = (policy.workspace, *policy.readable, *policy.writable, *filter(None, [machine.interpreter]))
        _check_program(inner, (*map(Path, system), *ours))
        if egress is not None:
            sandboxed = wrap_with_network(chosen.adapter, policy, machine, findings, inner)
        else:
            sandboxed = chosen.adapter.wrap(policy, machine, findings, inner)
        return chosen, policy, self._with_quarantine(sandboxed, policy, findings)

    def _with_quarantine(
        self, sandboxed: SandboxedCommand, policy: SandboxPolicy, findings: Findings
    ) -> SandboxedCommand:
        directory = self._quarantine or self._state / "quarantine"
        quarantine = plan_quarantine(policy, findings, directory, self._records)
        setup = msgspec.structs.replace(sandboxed.setup, quarantine=quarantine)
        return msgspec.structs.replace(sandboxed, setup=setup)

    def _policy_for(self, request: ProcessRequest) -> SandboxPolicy:
        policy = self._policy
        accepted = policy.allow_home or "protected_paths" in policy.accepted_gaps
        check_workspace(policy.workspace, self._variables, allow_home=accepted)
        roots = (policy.workspace, *policy.writable, *policy.readable, *request.readable)
        if not any(request.cwd.is_relative_to(path) for path in roots):
            raise SandboxError(
                f"the working directory `{request.cwd}` is outside the workspace", hint="start in the workspace"
            )
        owner = owner_of(policy.workspace)
        if owner is None and policy.access == "write" and os.geteuid() == 0 and policy.workspace.stat().st_uid != 0:
            # Root inside the user namespace has no rights there, and another user cannot reach the directory.
            raise SandboxError(
                f"`{policy.workspace}` belongs to another user, who cannot access it, so no command could write to it",
                hint="open the directories above it to that user, change its owner, or use the profile `read-only`",
            )
        readable = tuple(dict.fromkeys((*policy.readable, *request.readable, *repository_elsewhere(policy.workspace))))
        return msgspec.structs.replace(policy, readable=readable, owner=owner)

    def _choose(self, policy: SandboxPolicy, machine: Machine, findings: Findings) -> ChosenAdapter:
        problems: list[str] = []
        fixes: list[str] = []
        for adapter in self._adapters:
            capabilities = adapter.probe()
            if not capabilities.works:
                problems.append(capabilities.problem)
                fixes.append(capabilities.fix)
                continue
            gaps = adapter.gaps(policy, machine, findings)
            missing = unmet(policy.required, policy.accepted_gaps, gaps)
            if not missing:
                files = adapter.file_access(policy, machine, findings)
                return ChosenAdapter(adapter=adapter, capabilities=capabilities, gaps=gaps, file_access=files)
            error = refusal(adapter.name, missing)
            if not problems:
                raise error
            problems.append(f"{adapter.name} cannot promise {', '.join(f'`{gap.promise}`' for gap in missing)}")
        raise SandboxError(
            f"no sandbox works here: {'; '.join(problems) or 'this system has none'}",
            hint=f"{fixes[0]}; `skills-runtime sandbox doctor` tells more" if fixes else "use Linux or macOS",
            details={"troubles": problems},
        )


def owner_of(workspace: Path) -> tuple[int, int] | None:
    """Return user and group of a workspace; None if they could not even reach it themselves."""
    info = workspace.stat()
    infos = [parent.stat() for parent in workspace.parents]
    if all(ancestor.st_mode & stat.S_IXOTH or ancestor.st_uid == info.st_uid for ancestor in infos):
        return (info.st_uid, info.st_gid)
    return None


def check_workspace(workspace: Path, variables: Mapping[str, str], *, allow_home: bool = False) -> None:
    """Refuse a workspace that belongs to the system, or is or holds a home directory."""
    in_memory = MEMORY in workspace.parents  # `/dev/shm` holds ordinary files
    in_kernel_file_system = not in_memory and any(workspace.is_relative_to(root) for root in KERNEL_FILE_SYSTEMS)
    if str(workspace) in FORBIDDEN_WORKSPACES or in_kernel_file_system:
        raise SandboxError(
            f"`{workspace}` cannot be a workspace: it belongs to the system", hint="use a directory in it"
        )
    if home := None if allow_home else home_within(workspace, variables):
        problem = "is a home directory" if home == workspace else f"holds the home directory `{home}`"
        raise SandboxError(
            f"`{workspace}` {problem}, which contains far more than a project",
            hint="name the directory of a project as the workspace; `sandbox.allow_home: true` in your own"
            " configuration accepts it",
            details={"home": str(home)},
        )
    if not workspace.is_dir():
        raise NotFound(f"the workspace `{workspace}` does not exist", hint="create it, or name another")


def home_within(workspace: Path, variables: Mapping[str, str]) -> Path | None:
    """Return the home directory that a workspace is or contains; None for a directory inside one."""
    homes = {Path(os.path.realpath(variables["HOME"]))} if variables.get("HOME", "").startswith("/") else set[Path]()
    for user in {0, os.geteuid(), _owner(workspace)}:
        with suppress(KeyError):
            homes.add(Path(os.path.realpath(pwd.getpwuid(user).pw_dir)))
    if workspace.parent in HOME_PARENTS:
        homes.add(workspace)
    return next((home for home in sorted(homes) if home.is_relative_to(workspace) and len(home.parts) > 1), None)


def _owner(path: Path) -> int:
    try:
        return path.stat().st_uid
    except OSError:
        return os.geteuid()


def _check_program(inner: Inner, visible: tuple[Path, ...]) -> None:
    """Raise for a program that does not exist inside the sandbox."""
    name = inner.argv[0] if inner.argv else ""
    if "/" in name:
        candidates = [inner.cwd / name]
    else:
        search = inner.environment.get("PATH", "").split(os.pathsep)
        candidates = [inner.cwd / directory / name for directory in search if directory and name]
    inside = [path for path in candidates if any(Path(os.path.normpath(path)).is_relative_to(root) for root in visible)]
    for path in inside:
        with suppress(OSError):
            if stat.S_ISREG(path.stat().st_mode) and os.access(path, os.X_OK):
                return
    if any(path.exists() for path in inside):
        raise AccessRefused(f"`{name}` is not executable", hint="name a program, or give the file to its interpreter")
    raise NotFound(
        f"`{name}` is not a program inside the sandbox", hint="only system programs and the workspace are visible"
    )


def find_egress(policy: SandboxPolicy, gaps: tuple[Gap, ...] = ()) -> Egress | None:
    """Return the hosts that the policy allows; None without a proxy, with or without a network."""
    if policy.network != "allow-list" or any(gap.promise == "network" for gap in gaps):
        return None
    return policy.egress


def wrap_with_network(
    adapter: Adapter, policy: SandboxPolicy, machine: Machine, findings: Findings, inner: Inner
) -> SandboxedCommand:
    """Wrap a command that starts only after its network has been handed to the proxy."""
    interpreter = find_interpreter(machine.interpreter)
    if interpreter is None:
        gap = Gap(promise="network", text="an allow-list needs a Python inside the sandbox", fix="install `python3`")
        raise refusal(adapter.name, (gap,))
    source = adapter.wrap(policy, machine, findings, inner).setup.next_descriptor
    argv = build_stage_command(inner.argv, interpreter, source=source)
    sandboxed = adapter.wrap(policy, machine, findings, msgspec.structs.replace(inner, argv=argv))
    inputs = (*sandboxed.setup.inputs, stage_source())
    setup = msgspec.structs.replace(sandboxed.setup, inputs=inputs)
    return msgspec.structs.replace(sandboxed, setup=setup)


def git_identity(variables: Mapping[str, str]) -> tuple[str, str]:
    """Return the name and address of the user's own git configuration, used for commits."""
    home = variables.get("HOME", "/nonexistent")
    configuration = variables.get("XDG_CONFIG_HOME") or f"{home}/.config"
    identity = {"name": "agent", "email": "agent@localhost"}
    for path in (Path(configuration) / "git/config", Path(home) / ".gitconfig"):
        section = ""
        for line in small_text(path).splitlines():
            if line.strip().startswith("["):
                section = line.strip().strip("[] ").lower()
            name, _, value = line.partition("=")
            if section == "user" and name.strip().lower() in identity and value.strip():
                identity[name.strip().lower()] = value.strip().strip('"')
    return variables.get("GIT_AUTHOR_NAME") or identity["name"], variables.get("GIT_AUTHOR_EMAIL") or identity["email"]


def network_variables(egress: Egress | None) -> dict[str, str]:
    """Return the variables by which programs find the proxy; raise for an invalid rule."""
    if egress is None:
        return {}
    return proxy_variables(rule_hosts={rule.host for rule in compile_egress(egress).allow})


def repository_elsewhere(workspace: Path) -> tuple[Path, ...]:
    """Return the repository outside a work tree that git must read; empty for most workspaces."""
    pointer = _first_line(workspace / REPOSITORY)
    if not pointer.startswith(POINTER) or "\0" in pointer:
        return ()
    directory = Path(os.path.realpath(workspace / pointer.removeprefix(POINTER).strip()))
    back = _first_line(directory / "gitdir")
    # The `.git` file of a work tree only claims where its repository is; an archive could bring one that names
    # anything. So it is shown only if it points back to the work tree, has the same owner, and could be granted.
    if not back or "\0" in back or os.path.realpath(directory / back) != str(workspace / REPOSITORY):
        return ()
    shared = _first_line(directory / "commondir").replace("\0", "")
    repository = Path(os.path.realpath(directory / shared)) if shared else directory
    return (repository,) if directory.is_relative_to(repository) and _may_be_read(repository, workspace) else ()


def _may_be_read(repository: Path, workspace: Path) -> bool:
    if workspace.is_relative_to(repository) or repository.is_relative_to(workspace):
        return False
    try:
        same_user = repository.stat().st_uid == workspace.stat().st_uid
    except OSError:
        return False
    looks_right = all((repository / name).exists() for name in ("HEAD", "objects", "refs"))
    return same_user and looks_right and why_not_path(str(repository), writing=False) is None


def _first_line(path: Path) -> str:
    """Return the first line of a small file; empty for a link or a missing file."""
    lines = small_text(path).splitlines()
    return lines[0].strip() if lines else ""
