"""`approvals`: the calls that wait for a yes or no, and the decisions on them."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

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

if TYPE_CHECKING:
    from skills_runtime.cli.requests import Asked

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
    from skills_runtime.cli.approvals_view import show_requests, write_requests
    from skills_runtime.cli.requests import open_requests
    from skills_runtime.cli.state import this_ledger

    with this_ledger() as ledger:
        requests = open_requests(ledger, workspace_root)
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
    from skills_runtime.cli.approvals_view import show_request, write_request
    from skills_runtime.cli.requests import find_request
    from skills_runtime.cli.state import this_ledger

    with this_ledger() as ledger:
        asked = find_request(approval, ledger, workspace_root)
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
    from skills_runtime.cli.approval_text import read_arguments
    from skills_runtime.cli.deciding import decide, go_on, look_up
    from skills_runtime.cli.inputs import read_text
    from skills_runtime.cli.state import checked_text, this_ledger
    from skills_runtime.ports import Decision

    given = ConfigOptions(workspace_root, config, assignments)
    view = ViewOptions(as_json, quiet, no_color)
    if (session, rule is not None, edit is not None).count(True) > 1:
        raise Misuse("`--session`, `--rule` and `--edit` grant different things; give one of them")
    arguments = read_arguments(read_text(edit, option="--edit")) if edit is not None else None
    with this_ledger() as ledger:
        asked = look_up(approval, workspace_root, ledger, context.obj.name)
        recorded, keep = _rule(asked, rule, given, no_color=no_color) if rule else ({}, None)
        kind = "approved_for_session" if session else "approved"
        decision = Decision(decision=kind, note=checked_text(note, "--note"), rule=recorded, arguments=arguments)
        message = decide(asked, decision, ledger)
    if keep is not None:
        keep()
    return go_on(asked, message, given, view, context.obj, resume=not no_resume)


def _rule(
    asked: "Asked", scope: Literal["run", "skill", "user"], given: ConfigOptions, *, no_color: bool
) -> tuple[dict[str, Any], Callable[[], None] | None]:
    """The rule, shown in full, as a decision carries it, and what adds it to the user's own where it is for them."""
    from skills_runtime.cli.approval_text import rule_of
    from skills_runtime.cli.approvals_view import show_rule
    from skills_runtime.cli.continuing import settings_of, state_of
    from skills_runtime.safety.approvals.request import as_recorded
    from skills_runtime.safety.policy import add_rule
    from skills_runtime.safety.policy.rule_files import user_rule_file

    rule = rule_of(asked.request(), scope)
    file = user_rule_file(settings_of(asked.paths, state_of(asked.paths), given))
    show_rule(rule, scope, file, no_color=no_color)
    return as_recorded(rule, scope), None if scope == "run" else lambda: add_rule(file, rule)


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
    from skills_runtime.cli.deciding import decide, go_on, look_up
    from skills_runtime.cli.state import checked_text, this_ledger
    from skills_runtime.ports import Decision

    given = ConfigOptions(workspace_root, config, assignments)
    view = ViewOptions(as_json, quiet, no_color)
    with this_ledger() as ledger:
        asked = look_up(approval, workspace_root, ledger, context.obj.name)
        message = decide(
            asked, Decision(decision="abort" if abort else "denied", note=checked_text(reason, "--reason")), ledger
        )
    return go_on(asked, message, given, view, context.obj, resume=not no_resume)
