"""The `sandbox` commands: run or plan a command in the sandbox, and diagnose this machine.

Reads no settings, in particular none of the workspace: the command line is the only input.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
import typer

from skills_runtime.cli.options import Json, repeatable
from skills_runtime.cli.output import write_json
from skills_runtime.cli.program import ExampleCommand, PairsCommand, UsageError, create_app
from skills_runtime.errors import EXIT_CODES, ValidationFailed
from skills_runtime.ports import Egress, ProcessRequest, SandboxPlan
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.sandbox import Capabilities, Gap, OsSandbox, SandboxedCommand, SandboxPolicy

MEBIBYTE = 1 << 20
MAX_VARIABLES = 2000
"""Each variable takes three arguments of bubblewrap, which accepts 9000 in total."""
MASK = "•••"

app = create_app(
    "sandbox",
    "Run commands in the sandbox and diagnose it.",
    "sandbox doctor",
    "sandbox exec --workspace . -- python3 script.py",
)

Workspace = Annotated[str, typer.Option("--workspace", metavar="DIR", help="The directory of the command.")]
Profile = Annotated[
    str, typer.Option("--profile", metavar="NAME", help="read-only, workspace-write, workspace-net or build.")
]
Adapter = Annotated[str, typer.Option("--adapter", metavar="NAME", help="auto, bubblewrap or landlock.")]
Bwrap = Annotated[str, typer.Option("--bwrap", metavar="PATH", help="The path of bubblewrap.")]
AcceptGap = Annotated[
    list[str],
    repeatable("--accept-gap", metavar="PROMISE", help="Run without this guarantee; repeatable."),
]
Timeout = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", help="The time limit (6; 0 means none).")
]
Memory = Annotated[int | None, typer.Option("--memory", metavar="MIB", help="The memory limit of all processes (512).")]
Processes = Annotated[
    int | None, typer.Option("--processes", metavar="N", help="The limit of concurrent processes (200).")
]
Disk = Annotated[int | None, typer.Option("--disk", metavar="MIB", help="The limit of data written to DIR (256).")]
AllowHost = Annotated[
    list[str],
    repeatable("--allow-host", metavar="HOST[:PORT]", help="A host to allow; repeatable."),
]
AllowPrivateHost = Annotated[
    list[str],
    repeatable("--allow-private-host", metavar="HOST[:PORT]", help="A host in a private network to allow; repeatable."),
]
DenyHost = Annotated[
    list[str],
    repeatable("--deny-host", metavar="HOST[:PORT]", help="A host to block; repeatable."),
]


CommandLine = Annotated[list[str], typer.Argument(metavar="CMD...", help="A program and its arguments, after `--`.")]
Variables = Annotated[
    list[str], repeatable("--setenv", metavar="NAME VALUE", help="A variable for the command; repeatable.")
]


def _refuse_overlay(context: typer.Context, requested: bool) -> None:  # noqa: FBT001 - typer calls it
    if requested:
        raise UsageError(
            "`--overlay` was removed: copy the workspace, for example with `git worktree add`, and name the copy with"
            " `--workspace`",
            context,
        )


@app.command("doctor", cls=ExampleCommand, epilog="sandbox doctor\nsandbox doctor --json")
def sandbox_doctor(
    *,
    as_json: Json = False,
    workspace: Workspace = ".",
    profile: Profile = "workspace-write",
    adapter: Adapter = "auto",
    bwrap: Bwrap = "bwrap",
    accept_gap: AcceptGap,
    timeout: Timeout = None,
    memory: Memory = None,
    processes: Processes = None,
    disk: Disk = None,
    allow_host: AllowHost,
    allow_private_host: AllowPrivateHost,
    deny_host: DenyHost,
) -> int:
    """Show which sandboxes work on this machine, and what is missing."""
    sandbox, _ = _build_sandbox(
        SandboxOptions(workspace, profile, adapter, bwrap, accept_gap),
        LimitOptions(timeout, memory, processes, disk),
        Egress(allow=tuple(allow_host), allow_private=tuple(allow_private_host), deny=tuple(deny_host)),
    )
    capabilities, gaps, is_ready = sandbox.state()
    if as_json:
        write_json({"adapters": capabilities, "gaps": gaps, "required_promises_kept": is_ready})
    else:
        _show_state(capabilities, gaps)
    return 0 if is_ready else EXIT_CODES["sandbox_denied"]


@app.command(
    "exec",
    cls=PairsCommand,
    epilog=(
        "sandbox exec --workspace . --setenv LEVEL 3 -- python3 script.py\n"
        "sandbox exec --profile workspace-net --allow-host example.com -- curl https://example.com/"
    ),
)
def sandbox_exec(
    *,
    command: CommandLine,
    setenv: Variables,
    evidence: Annotated[
        str | None, typer.Option("--evidence", metavar="FILE", help="Write the guarantees of the sandbox as JSON.")
    ] = None,
    overlay: Annotated[bool, typer.Option("--overlay", hidden=True, callback=_refuse_overlay)] = False,
    workspace: Workspace = ".",
    profile: Profile = "workspace-write",
    adapter: Adapter = "auto",
    bwrap: Bwrap = "bwrap",
    accept_gap: AcceptGap,
    timeout: Timeout = None,
    memory: Memory = None,
    processes: Processes = None,
    disk: Disk = None,
    allow_host: AllowHost,
    allow_private_host: AllowPrivateHost,
    deny_host: DenyHost,
) -> int:
    """Run a command in the sandbox; streams and exit code pass through."""
    from skills_runtime.cli.sandbox_exec import run_command  # slow, and help needs none of it

    del overlay
    sandbox, policy = _build_sandbox(
        SandboxOptions(workspace, profile, adapter, bwrap, accept_gap),
        LimitOptions(timeout, memory, processes, disk),
        Egress(allow=tuple(allow_host), allow_private=tuple(allow_private_host), deny=tuple(deny_host)),
    )
    return run_command(sandbox, policy, command, parse_variables(setenv), evidence)


@app.command(
    "plan", cls=PairsCommand, epilog="sandbox plan -- make test\nsandbox plan --profile read-only --json -- ls"
)
def sandbox_plan(
    *,
    command: CommandLine,
    setenv: Variables,
    as_json: Json = False,
    workspace: Workspace = ".",
    profile: Profile = "workspace-write",
    adapter: Adapter = "auto",
    bwrap: Bwrap = "bwrap",
    accept_gap: AcceptGap,
    timeout: Timeout = None,
    memory: Memory = None,
    processes: Processes = None,
    disk: Disk = None,
    allow_host: AllowHost,
    allow_private_host: AllowPrivateHost,
    deny_host: DenyHost,
) -> int:
    """Show how a command would be started in the sandbox."""
    sandbox, policy = _build_sandbox(
        SandboxOptions(workspace, profile, adapter, bwrap, accept_gap),
        LimitOptions(timeout, memory, processes, disk),
        Egress(allow=tuple(allow_host), allow_private=tuple(allow_private_host), deny=tuple(deny_host)),
    )
    request = ProcessRequest(argv=tuple(command), cwd=policy.workspace, environment=parse_variables(setenv))
    plan, command_shown = sandbox.explain(request)
    values = _plan_document(plan, command_shown)
    if as_json:
        write_json(values)
    else:
        _show_plan(values)
    return 0


@app.command("accept", cls=ExampleCommand, epilog="sandbox accept\nsandbox accept ./new-project/.git")
def sandbox_accept(
    *,
    listing: Annotated[bool, typer.Option("--list", help="Only list the quarantined files.")] = False,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Only these paths; all below this directory by default."),
    ] = None,
) -> int:
    """Restore files that `sandbox exec` has quarantined."""
    # The sandbox is slow to import, and help needs none of it.
    from skills_runtime.config import state_home
    from skills_runtime.sandbox import accept, list_items

    directory, current = state_home() / "sandbox" / "quarantine", Path.cwd()
    selected = [str(Path(path).absolute()) for path in paths or ()]
    waiting = [item.path for _, item in list_items(directory) if selected or Path(item.path).is_relative_to(current)]
    for path in waiting if listing else accept(directory, selected or waiting):
        sys.stdout.write(f"{readable_line(path)}\n")
    return 0


# Options


class SandboxOptions(NamedTuple):
    """The options that select a sandbox."""

    workspace: str
    profile: str
    adapter: str
    bwrap: str
    accept_gap: Sequence[str]


class LimitOptions(NamedTuple):
    """The limit options; the profile has the defaults."""

    timeout: float | None
    memory: int | None
    processes: int | None
    disk: int | None


def _build_sandbox(options: SandboxOptions, limits: LimitOptions, egress: Egress) -> "tuple[OsSandbox, SandboxPolicy]":
    """Build the sandbox and its policy from the options."""
    # The sandbox is slow to import, and help needs none of it.
    from skills_runtime.config import process_environ, state_home
    from skills_runtime.sandbox import (
        CAREFUL,
        OsSandbox,
        build_policy,
        find_adapters,
        own_directories,
        parse_profile,
        parse_promise,
        runtime_code,
    )

    profile = parse_profile(options.profile)
    if profile == "danger":
        raise ValidationFailed("the profile `danger` is not a sandbox", hint="run the command without `sandbox exec`")
    if (egress.allow or egress.allow_private) and profile == "workspace-write":
        profile = "workspace-net"
    if not options.workspace.strip() or "\0" in options.workspace:
        raise ValidationFailed("`--workspace` does not name a usable path", hint="give the path of a directory")
    path = Path(os.path.abspath(options.workspace))
    policy = build_policy(profile, path.resolve(), None if profile == "build" else CAREFUL)
    # Our own directories are below the home directory, so only a workspace above it can contain them.
    holds_home = policy.workspace in (home := Path.home().resolve(), *home.parents)
    policy = msgspec.structs.replace(
        policy,
        limits=msgspec.structs.replace(policy.limits, **_build_limits(limits)),
        aliases=(path,) if path != policy.workspace else (),
        hidden=own_directories(policy.workspace, process_environ()) if holds_home else (),
        protected=runtime_code(policy.workspace),
        accepted_gaps=frozenset(map(parse_promise, options.accept_gap)),
        **_build_network(options.profile, egress),
    )
    adapters, state = find_adapters(options.adapter, bubblewrap=options.bwrap), state_home() / "sandbox"
    return OsSandbox(policy, adapters, {}, state=state), policy


def _build_network(profile: str, egress: Egress) -> dict[str, Any]:
    """Build the network settings; an allow-list without hosts blocks everything."""
    from skills_runtime.sandbox.egress import compile_egress  # slow, and help needs none of it

    has_allow_list = egress.allow or egress.allow_private or profile == "workspace-net"
    if has_allow_list or egress.deny:
        compile_egress(egress)  # reject invalid rules even where they have no effect
    return {"network": "allow-list", "egress": egress} if has_allow_list else {}


def _build_limits(limits: LimitOptions) -> dict[str, Any]:
    """Build the limits that differ from the profile; 0 means no limit."""
    values = {
        "wall_seconds": limits.timeout,
        "memory_bytes": limits.memory and limits.memory * MEBIBYTE,
        "processes": limits.processes,
        "disk_bytes": limits.disk and limits.disk * MEBIBYTE,
    }
    if any(value is not None and value < 0 for value in values.values()):
        raise ValidationFailed("a limit cannot be negative", hint="use 0 for no limit")
    changes = {name: value or None for name, value in values.items() if value is not None}
    if limits.timeout is not None:
        changes["cpu_seconds"] = int(limits.timeout) + 2 if limits.timeout else None
    return changes


def parse_variables(assignments: Sequence[str]) -> dict[str, str]:
    """Parse `NAME=VALUE` variables."""
    variables: dict[str, str] = {}
    for assignment in assignments:
        name, separator, value = assignment.partition("=")
        if not name or not separator:
            raise ValidationFailed("`--setenv` needs a name and a value", hint="write `--setenv NAME VALUE`")
        variables[name] = value
    if len(variables) > MAX_VARIABLES:
        raise ValidationFailed(
            f"a command can have at most {MAX_VARIABLES:,} variables, not {len(variables):,}",
            hint="put them into a file in the workspace",
        )
    return variables


# Output


def _plan_document(plan: SandboxPlan, enclosed: "SandboxedCommand") -> dict[str, Any]:
    """Build the JSON document of a plan; values of variables are masked."""
    arguments = list(enclosed.options)
    for index, argument in enumerate(enclosed.options):
        if argument == "--setenv" and index + 2 < len(arguments):
            arguments[index + 2] = MASK
    groups: list[list[str]] = []  # each option with its values
    for argument in arguments:
        if argument.startswith("--") or not groups:
            groups.append([])
        groups[-1].append(argument)
    setup = plan.setup
    return {
        "argv": list(plan.argv),
        "options": [" ".join(group) for group in groups],
        "control_groups": [
            {"parent": group.parent, "settings": dict(group.settings)} for group in setup.control_groups
        ],
        "evidence": dict(plan.evidence),
    }


def _show_plan(values: Mapping[str, Any]) -> None:
    """Print a plan."""
    evidence, out = values["evidence"], sys.stdout
    groups = [
        f"{group['parent']}: {', '.join(f'{name} = {value}' for name, value in group['settings'].items())}"
        for group in values["control_groups"]
    ]
    out.write(f"{readable_line(' '.join(values['argv']))}\n")
    _write_list("options", values["options"])
    _write_list("control groups", groups)
    out.write(f"profile {evidence['profile']} by {evidence['adapter']} ({evidence['version']})\n")
    out.write(f"policy {evidence['policy']}\npromises: {', '.join(evidence['promises'])}\n")
    _write_list("gaps", evidence["gaps"])


def _show_state(capabilities: "Sequence[Capabilities]", gaps: "Sequence[Gap]") -> None:
    """Print which adapters work, what is missing, and how to fix it."""
    from skills_runtime.sandbox import PROMISES  # slow, and help needs none of it

    for capability in capabilities:
        state = "works" if capability.works else "does not work"
        sys.stdout.write(f"{capability.adapter}: {state}{f' ({capability.version})' if capability.version else ''}\n")
        if not capability.works:
            sys.stdout.write(
                f"  problem: {readable_line(capability.problem)}\n  fix: {readable_line(capability.fix)}\n"
            )
    if not any(item.works for item in capabilities):
        return
    broken = {gap.promise for gap in gaps}
    _write_list("promises", [f"{name}: {text}" for name, text in PROMISES.items() if name not in broken])
    _write_list("gaps", [f"{gap}{f' (fix: {gap.fix})' if gap.fix else ''}" for gap in gaps])


def _write_list(heading: str, lines: Sequence[str]) -> None:
    if lines:
        sys.stdout.write(f"{heading}:\n")
    for line in lines:
        sys.stdout.write(f"  {readable_line(line)}\n")
