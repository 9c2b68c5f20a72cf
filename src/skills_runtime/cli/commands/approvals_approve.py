"""approvals approve: yes to a call that waits for it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from skills_runtime.cli.options import DecisionOptions
from skills_runtime.cli.program import Command, Misuse, Program

if TYPE_CHECKING:
    from collections.abc import Callable

    from skills_runtime.cli.requests import Asked


@dataclass(frozen=True, kw_only=True)
class ApproveOptions(DecisionOptions):
    """What `approvals approve` takes."""

    session: Annotated[
        bool, typer.Option("--session", help="Also whenever this very call comes again in this session.")
    ] = False
    rule: Annotated[
        Literal["run", "skill", "user"] | None,
        typer.Option("--rule", help="Add a rule that allows such calls in this run, by this skill, or in all runs."),
    ] = None
    edit: Annotated[
        str | None,
        typer.Option("--edit", metavar="FILE", help="Run it with other arguments, a JSON object; - reads stdin."),
    ] = None
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="What to remember about it.")] = ""


def approve(options: ApproveOptions, program: Program) -> int:
    """Allow a call that waits for an approval, and go on with its run."""
    from skills_runtime.cli.deciding import decide, go_on, look_up
    from skills_runtime.cli.machine import checked_text, this_ledger
    from skills_runtime.ports import Decision

    if (options.session, options.rule is not None, options.edit is not None).count(True) > 1:
        raise Misuse("`--session`, `--rule` and `--edit` grant different things; give one of them")
    note, arguments = checked_text(options.note, "--note"), _arguments(options)
    with this_ledger() as ledger:
        asked = look_up(options, ledger, program)
        rule, keep = _rule(options, asked) if options.rule else ({}, None)
        kind = "approved_for_session" if options.session else "approved"
        message = decide(asked, Decision(decision=kind, note=note, rule=rule, arguments=arguments), ledger)
    if keep is not None:
        keep()
    return go_on(asked, message, options, program)


def _arguments(options: ApproveOptions) -> dict[str, Any] | None:
    from skills_runtime.cli.prompt import read_text
    from skills_runtime.cli.ruling import read_arguments

    return read_arguments(read_text(options.edit, option="--edit")) if options.edit is not None else None


def _rule(options: ApproveOptions, asked: "Asked") -> "tuple[dict[str, Any], Callable[[], None] | None]":
    """The rule, shown in full, as a decision carries it, and what adds it to the user's own where it is for them."""
    from skills_runtime.cli.continuing import settings_of, state_of
    from skills_runtime.cli.render.approvals import show_rule
    from skills_runtime.cli.ruling import rule_of
    from skills_runtime.safety.approvals.proposal import as_recorded
    from skills_runtime.safety.policy import add_rule
    from skills_runtime.safety.policy.rule_files import user_rule_file

    scope = options.rule or "run"
    rule = rule_of(asked.request(), scope)
    file = user_rule_file(settings_of(asked.paths, state_of(asked.paths), options))
    show_rule(rule, scope, file, no_color=options.no_color)
    return as_recorded(rule, scope), None if scope == "run" else lambda: add_rule(file, rule)


COMMAND = Command(
    options=ApproveOptions,
    work=approve,
    examples=("approvals approve 3f2a", "approvals approve 3f2a --rule run"),
)
