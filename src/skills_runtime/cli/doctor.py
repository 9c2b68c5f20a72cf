"""The `doctor` command: whether a run would work here, and how to fix what would stop it."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from skills_runtime.cli.marks import shows_unicode
from skills_runtime.cli.options import (
    Assignments,
    ConfigFiles,
    ConfigOptions,
    Json,
    NoColor,
    WorkspaceRoot,
    parse_path,
    resolve_settings,
)
from skills_runtime.cli.output import plural, stdout_console, write_json
from skills_runtime.cli.program import ExampleCommand, create_app
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.engine import Check, CheckStatus, Diagnosis

app = create_app()

_MARKS: "Mapping[CheckStatus, str]" = {"ok": "✓", "warning": "!", "failed": "✗"}
_ASCII_MARKS: "Mapping[CheckStatus, str]" = {"ok": "+", "warning": "!", "failed": "x"}
_STYLES: "Mapping[CheckStatus, str]" = {"ok": "green", "warning": "yellow", "failed": "red"}
_CANNOT_RUN = 1


@app.command("doctor", cls=ExampleCommand, epilog="doctor\ndoctor --workspace-root ./project --json")
def doctor(
    context: typer.Context,
    *,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Check whether a run would work here; exit code 0 if it would, else 1."""
    from skills_runtime.engine import diagnose  # slow, and help needs none of it

    options = ConfigOptions(workspace_root, config, assignments)
    diagnosis = diagnose(
        parse_path(workspace_root, option="--workspace-root"),
        lambda: resolve_settings(options),
    )
    if as_json:
        write_json(diagnosis.document)
    else:
        _show(diagnosis, stdout_console(no_color=no_color))
    return 0 if diagnosis.can_run else _CANNOT_RUN


def _show(diagnosis: "Diagnosis", console: Console) -> None:
    """Print one line for each check, with the fix below those that need one, and a summary."""
    width = max(len(check.name) for check in diagnosis.checks)
    for check in diagnosis.checks:
        _show_check(check, width, console)
    numbers = {status: sum(check.status == status for check in diagnosis.checks) for status in _MARKS}
    outcome = "A run would work here." if diagnosis.can_run else "A run would not work here yet."
    counts = [
        plural(numbers["failed"], "problem") if numbers["failed"] else "",
        plural(numbers["warning"], "warning") if numbers["warning"] else "",
    ]
    counted = ", ".join(filter(None, counts))
    console.print(Text(f"{outcome} {counted}".rstrip()), soft_wrap=True)


def _show_check(check: "Check", width: int, console: Console) -> None:
    marks = _MARKS if shows_unicode(sys.stdout) else _ASCII_MARKS
    head = Text.assemble((marks[check.status], _STYLES[check.status]), " ", (f"{check.name:{width}}", "bold"), "  ")
    indent = head.cell_len
    console.print(head.append(readable_line(check.fact)), soft_wrap=True)
    for detail in check.details:
        console.print(Padding(Text(readable_line(detail), style="dim"), (0, 0, 0, indent), expand=False))
    if check.fix and check.status != "ok":
        # Never wrapped, so that it can be copied.
        console.print(Text.assemble(" " * indent, ("fix: ", "dim"), readable_line(check.fix)), soft_wrap=True)
