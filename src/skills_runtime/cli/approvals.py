"""`approvals`: the calls that wait for a yes or no, and the decisions on them."""

import sys
from typing import Annotated, Literal

import typer

from skills_runtime.cli.errors import Misuse
from skills_runtime.cli.help import ExampleCommand, create_app
from skills_runtime.cli.options import (
    ApprovalReference,
    Assignments,
    ConfigFiles,
    ConfigOptions,
    EventsAsJson,
    Json,
    NoColor,
    Quiet,
    ViewOptions,
    WorkspaceRoot,
)

app = create_app(
    "approvals",
    "Decide on calls that wait for an approval, from any terminal.",
    "approvals list",
    "approvals approve 3f2a",
)

NoResume = Annotated[
    bool, typer.Option("--no-resume", help="Only keep the decision; the run goes on when somebody resumes it.")
]


@app.command("list", cls=ExampleCommand, epilog="approvals list\napprovals list --json")
def list_approvals(
    context: typer.Context,
    *,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """List the calls that wait for an approval, oldest first."""
    from skills_runtime.cli.approvals_view import open_requests, show_requests, write_requests
    from skills_runtime.cli.state import open_service

    with open_service(ConfigOptions(workspace_root)) as service:
        requests = open_requests(service)
    if as_json:
        write_requests(requests, sys.stdout.buffer)
    else:
        show_requests(requests, program=context.obj.name, no_color=no_color)
    return 0


@app.command("show", cls=ExampleCommand, epilog="approvals show 3f2a\napprovals show demo-001 --json")
def show_approval(
    context: typer.Context,
    *,
    approval: ApprovalReference,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """Show everything about a call that waits for an approval."""
    from skills_runtime.cli.approvals_view import find_request, show_request, write_request
    from skills_runtime.cli.state import open_service

    with open_service(ConfigOptions(workspace_root)) as service:
        asked = find_request(service, approval)
    if as_json:
        write_request(asked, sys.stdout, program=context.obj.name)
    else:
        show_request(asked, program=context.obj.name, no_color=no_color)
    return 0


@app.command("approve", cls=ExampleCommand, epilog="approvals approve 3f2a\napprovals approve 3f2a --rule run")
def approve(
    context: typer.Context,
    *,
    session: Annotated[
        bool, typer.Option("--session", help="Also whenever this very call comes again in this session.")
    ] = False,
    rule: Annotated[
        Literal["run", "skill", "user"] | None,
        typer.Option("--rule", help="Add a rule that allows such calls in this run, by this skill, or in all runs."),
    ] = None,
    edit: Annotated[
        str | None,
        typer.Option("--edit", metavar="FILE", help="Run it with other arguments, a JSON object; - reads stdin."),
    ] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="What to remember about it.")] = "",
    as_json: EventsAsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
    approval: ApprovalReference,
    no_resume: NoResume = False,
) -> int:
    """Allow a call that waits for an approval, and go on with its run."""
    from skills_runtime.cli.approval_text import read_arguments, rule_of
    from skills_runtime.cli.approvals_view import go_on, look_up, show_rule
    from skills_runtime.cli.inputs import checked_text, read_text
    from skills_runtime.cli.state import login_name, open_service
    from skills_runtime.engine import ApprovalAnswer

    given, view = ConfigOptions(workspace_root, config, assignments), ViewOptions(as_json, quiet, no_color)
    if (session, rule is not None, edit is not None).count(True) > 1:
        raise Misuse("`--session`, `--rule` and `--edit` grant different things; give one of them")
    answer = ApprovalAnswer(
        decision="approved_for_session" if session else "approved",
        decided_by=login_name(),
        note=checked_text(note, "--note"),
        arguments=read_arguments(read_text(edit, option="--edit")) if edit is not None else None,
        rule=rule,
    )
    with open_service(given) as service:
        asked = look_up(service, approval, context.obj.name)
        if rule is not None:
            show_rule(rule_of(asked.request(), rule), rule, service.rule_file, no_color=no_color)
        message = service.decide(asked, answer)
    return go_on(asked, message, given, view, context.obj, resume=not no_resume)


@app.command(
    "deny", cls=ExampleCommand, epilog='approvals deny 3f2a --reason "Use the mirror"\napprovals deny 3f2a --abort'
)
def deny(
    context: typer.Context,
    *,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; the model reads it.")] = "",
    abort: Annotated[bool, typer.Option("--abort", help="End the run, too.")] = False,
    as_json: EventsAsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
    approval: ApprovalReference,
    no_resume: NoResume = False,
) -> int:
    """Refuse a call that waits for an approval, and go on with its run, or end it."""
    from skills_runtime.cli.approvals_view import go_on, look_up
    from skills_runtime.cli.inputs import checked_text
    from skills_runtime.cli.state import login_name, open_service
    from skills_runtime.engine import ApprovalAnswer

    given, view = ConfigOptions(workspace_root, config, assignments), ViewOptions(as_json, quiet, no_color)
    answer = ApprovalAnswer(
        decision="abort" if abort else "denied", decided_by=login_name(), note=checked_text(reason, "--reason")
    )
    with open_service(given) as service:
        asked = look_up(service, approval, context.obj.name)
        message = service.decide(asked, answer)
    return go_on(asked, message, given, view, context.obj, resume=not no_resume)
