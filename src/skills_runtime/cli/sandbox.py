"""`sandbox`: run a command in the sandbox, show how it would be started, and say what works on this machine."""

import sys
from typing import Annotated

import typer

from skills_runtime.cli.errors import Misuse
from skills_runtime.cli.help import ExampleCommand, PairsCommand, create_app
from skills_runtime.cli.options import Json, repeatable

app = create_app(
    "sandbox",
    "Try the fence that commands run behind.",
    "sandbox doctor",
    "sandbox exec --workspace . -- python3 script.py",
)

Workspace = Annotated[str, typer.Option("--workspace", metavar="DIR", help="Where the command works.")]
Profile = Annotated[
    str, typer.Option("--profile", metavar="NAME", help="read-only, workspace-write, workspace-net or build.")
]
Adapter = Annotated[str, typer.Option("--adapter", metavar="NAME", help="auto, bubblewrap or landlock.")]
Bwrap = Annotated[str, typer.Option("--bwrap", metavar="PATH", help="The bubblewrap program.")]
AcceptGap = Annotated[
    list[str],
    repeatable("--accept-gap", metavar="PROMISE", help="Do without this promise; repeatable."),
]
Timeout = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", help="When to end it (6; 0 means never).")
]
Memory = Annotated[int | None, typer.Option("--memory", metavar="MIB", help="For all processes (512).")]
Processes = Annotated[int | None, typer.Option("--processes", metavar="N", help="At the same time (200).")]
Disk = Annotated[int | None, typer.Option("--disk", metavar="MIB", help="Written to DIR (256).")]
AllowHost = Annotated[
    list[str],
    repeatable("--allow-host", metavar="HOST[:PORT]", help="A host it may reach; repeatable."),
]
AllowPrivateHost = Annotated[
    list[str],
    repeatable("--allow-private-host", metavar="HOST[:PORT]", help="The same in a private network; repeatable."),
]
DenyHost = Annotated[
    list[str],
    repeatable("--deny-host", metavar="HOST[:PORT]", help="A host it never reaches; repeatable."),
]


Words = Annotated[list[str], typer.Argument(metavar="CMD...", help="A program and its arguments, behind `--`.")]
Variables = Annotated[
    list[str], repeatable("--setenv", metavar="NAME VALUE", help="A variable the command gets; repeatable.")
]


def _refuse_overlay(context: typer.Context, given: bool) -> None:  # noqa: FBT001 - typer calls it
    if given:
        raise Misuse(
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
    """Say which fences work here, and what is missing."""
    import msgspec

    from skills_runtime.cli.sandbox_command import FenceOptions, fence_from, write_state
    from skills_runtime.errors import EXIT_CODES

    options = FenceOptions(
        workspace=workspace,
        profile=profile,
        adapter=adapter,
        bwrap=bwrap,
        accept_gap=accept_gap,
        timeout=timeout,
        memory=memory,
        processes=processes,
        disk=disk,
        allow_host=allow_host,
        allow_private_host=allow_private_host,
        deny_host=deny_host,
    )
    fence, _ = fence_from(options)
    capabilities, gaps, kept = fence.state()
    if as_json:
        values = {"adapters": capabilities, "gaps": gaps, "required_promises_kept": kept}
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(values)).decode() + "\n")
    else:
        write_state(capabilities, gaps, sys.stdout)
    return 0 if kept else EXIT_CODES["sandbox_denied"]


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
    command: Words,
    setenv: Variables,
    evidence: Annotated[
        str | None, typer.Option("--evidence", metavar="FILE", help="Write what the sandbox promised, as JSON.")
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
    """Run a command behind the fence; streams and exit code pass through."""
    from skills_runtime.cli.sandbox_command import FenceOptions, fence_from, run_command

    del overlay
    options = FenceOptions(
        workspace=workspace,
        profile=profile,
        adapter=adapter,
        bwrap=bwrap,
        accept_gap=accept_gap,
        timeout=timeout,
        memory=memory,
        processes=processes,
        disk=disk,
        allow_host=allow_host,
        allow_private_host=allow_private_host,
        deny_host=deny_host,
    )
    fence, policy = fence_from(options)
    return run_command(fence, policy, command, setenv, evidence)


@app.command(
    "plan", cls=PairsCommand, epilog="sandbox plan -- make test\nsandbox plan --profile read-only --json -- ls"
)
def sandbox_plan(
    *,
    command: Words,
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
    """Show how a command would be started behind the fence."""
    import msgspec

    from skills_runtime.cli.sandbox_command import FenceOptions, fence_from, plan_values, variables_of, write_plan
    from skills_runtime.ports import ProcessRequest

    options = FenceOptions(
        workspace=workspace,
        profile=profile,
        adapter=adapter,
        bwrap=bwrap,
        accept_gap=accept_gap,
        timeout=timeout,
        memory=memory,
        processes=processes,
        disk=disk,
        allow_host=allow_host,
        allow_private_host=allow_private_host,
        deny_host=deny_host,
    )
    fence, policy = fence_from(options)
    request = ProcessRequest(argv=tuple(command), cwd=policy.workspace, environment=variables_of(setenv))
    plan, enclosed = fence.explain(request)
    values = plan_values(plan, enclosed)
    if as_json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(values)).decode() + "\n")
    else:
        write_plan(values, sys.stdout)
    return 0
