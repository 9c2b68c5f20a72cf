"""The `policy` commands: evaluate the rules for a call without executing it."""

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from skills_runtime.cli.options import (
    Assignments,
    ConfigFiles,
    ConfigOptions,
    Json,
    NoColor,
    WorkspaceRoot,
    check_text,
    parse_path,
    resolve_settings,
)
from skills_runtime.cli.output import labeled_table, stdout_console, write_json, write_notices
from skills_runtime.cli.program import ExampleCommand, create_app
from skills_runtime.errors import EXIT_CODES, ValidationFailed
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.safety import PolicyPreview

DECISION_EXIT_CODES = {"allow": 0, "ask": EXIT_CODES["human_required"], "deny": EXIT_CODES["permission"]}
"""Exit codes by decision."""
_DECISION_STYLES: Mapping[str, tuple[str, str]] = {
    "allow": ("✓", "green"),
    "ask": ("?", "yellow"),
    "deny": ("✗", "bold red"),
}
_LABEL = 8

app = create_app(
    "policy",
    "Check what the rules decide, without running anything.",
    "policy check -- git push",
    "policy explain call.json",
)


@app.command(
    "check",
    cls=ExampleCommand,
    epilog="policy check -- git push --force\npolicy check --json 'make test | tee log.txt'",
)
def policy_check(
    *,
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="CMD",
            help="A program and its arguments, or a quoted shell line. Exit code: 0 allow, 26 ask, 21 deny.",
        ),
    ],
    tool: Annotated[
        str, typer.Option("--tool", metavar="NAME", help="The tool that would run the command.")
    ] = "shell_command",
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Check whether a run may execute a command, and by which rule."""
    from skills_runtime.engine import explain_command  # slow, and help needs none of it

    options = ConfigOptions(workspace_root, config, assignments)
    arguments = [check_text(argument, "CMD") for argument in command]
    resolved = resolve_settings(options)
    preview = explain_command(resolved, tool, arguments[0] if len(arguments) == 1 else arguments)
    return _write_decision(preview, resolved.notices, as_json=as_json, no_color=no_color)


@app.command("explain", cls=ExampleCommand, epilog="policy explain call.json\npolicy explain --json call.json")
def policy_explain(
    *,
    call: Annotated[
        str,
        typer.Argument(
            metavar="CALL",
            help='A file with {"tool": "…", "arguments": {…}}; - reads stdin. Exit code: 0 allow, 26 ask, 21 deny.',
        ),
    ],
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Check whether a run may make a tool call, and why."""
    # All of it is slow to import, and help needs none of it.
    import asyncio

    from skills_runtime.config import read_text
    from skills_runtime.engine import explain_call
    from skills_runtime.safety import PlannedCall

    options = ConfigOptions(workspace_root, config, assignments)
    text = sys.stdin.read() if call == "-" else read_text(parse_path(call, option="CALL"))
    try:
        planned = msgspec.json.decode(text, type=PlannedCall)
    except msgspec.DecodeError as error:
        raise ValidationFailed(
            f"`{call}` does not describe a call: {error}", hint='write {"tool": "file_write", "arguments": {…}}'
        ) from None
    resolved = resolve_settings(options)
    preview = asyncio.run(explain_call(resolved, planned))
    return _write_decision(preview, resolved.notices, as_json=as_json, no_color=no_color)


def _write_decision(preview: "PolicyPreview", notices: Iterable[str], *, as_json: bool, no_color: bool) -> int:
    """Print the decision and the notices; return the exit code."""
    write_notices((*notices, *preview.notices))
    facts, verdict = preview.facts, preview.explanation.verdict
    decision = type(verdict).__name__.lower()
    if as_json:
        document = {
            "decision": decision,
            "rule": verdict.rule,
            "justification": verdict.justification,
            "tool": facts.tool,
            "effect": facts.effect,
            "risk": facts.risk,
            "unclear": facts.unclear,
            "escalated": facts.escalated,
            "parts": preview.explanation.parts,
            "hosts": facts.hosts,
            "notices": preview.notices,
        }
        write_json(document, pretty=False)
    else:
        _show_decision(preview, decision, stdout_console(no_color=no_color))
    return DECISION_EXIT_CODES[decision]


def _show_decision(preview: "PolicyPreview", decision: str, console: Console) -> None:
    """Print the decision, its rule, and how each part of the call was evaluated."""
    facts, verdict = preview.facts, preview.explanation.verdict
    sign, style = _DECISION_STYLES[decision]
    console.print(Text.assemble((f"{sign} {decision}", style), f"  {readable_line(verdict.rule)}"))
    reason = f": {facts.risk.reason}" if facts.risk.reason else ""
    part = f" (`{facts.risk.part}`)" if facts.risk.part else ""
    facts_shown = {
        "because": verdict.justification,
        "tool": facts.tool,
        "risk": f"{facts.risk.level}{reason}{part}",
        "unclear": facts.unclear,
    }
    console.print(
        labeled_table({name: readable_line(text) for name, text in facts_shown.items() if text}, indent=2, width=_LABEL)
    )
    for part_preview in preview.explanation.parts:
        sign, style = ("✓", "green") if part_preview.allowed_by else ("·", "dim")
        by = readable_line(part_preview.allowed_by or part_preview.objection or "no rule allows it")
        console.print(
            Text.assemble(
                (f"  {sign} ", style), f"{part_preview.kind} {readable_line(part_preview.text)}", (f"  {by}", "dim")
            )
        )
