"""The `doctor` command: whether a run would work here, and how to fix what would stop it."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from skills_runtime.cli.language import translate, translate_phrase
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
from skills_runtime.cli.output import counted, pad, stdout_console, write_json
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
    """Check whether a run would work here; the exit code says so."""
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
    width = max(cell_len(_title(check.name)) for check in diagnosis.checks)
    for check in diagnosis.checks:
        _show_check(check, width, console)
    numbers = {status: sum(check.status == status for check in diagnosis.checks) for status in _MARKS}
    works = translate("doctor.works", "A run would work here.")
    fails = translate("doctor.fails", "A run would not work here yet.")
    counts = [
        counted(numbers["failed"], "problem") if numbers["failed"] else "",
        counted(numbers["warning"], "warning") if numbers["warning"] else "",
    ]
    outcome = works if diagnosis.can_run else fails
    if any(counts):
        both = translate("list.joint", ", ").join(filter(None, counts))
        outcome = translate("doctor.outcome", "{outcome} {counts}", outcome=outcome, counts=both)
    console.print(Text(outcome), soft_wrap=True)


def _title(name: str) -> str:
    titles = (
        "{name, select, python {python} commands {commands} configuration {configuration} model {model} key {key}"
        " address {address} sandbox {sandbox} workspace {workspace} skills {skills} state {state} disk {disk}"
        " studio {studio} extras {extras} other {{name}}}"
    )
    return translate("doctor.title", titles, name=name)


def _show_check(check: "Check", width: int, console: Console) -> None:
    marks = _MARKS if shows_unicode(sys.stdout) else _ASCII_MARKS
    head = Text.assemble(
        (marks[check.status], _STYLES[check.status]), " ", (pad(_title(check.name), width), "bold"), "  "
    )
    indent = head.cell_len
    console.print(head.append(readable_line(translate_phrase(check.fact))), soft_wrap=True)
    for detail in check.details:
        console.print(
            Padding(Text(readable_line(translate_phrase(detail)), style="dim"), (0, 0, 0, indent), expand=False)
        )
    if check.fix and check.status != "ok":
        # Never wrapped, so that it can be copied.
        label, fix = translate("doctor.fix", "fix: "), readable_line(translate_phrase(check.fix))
        console.print(Text.assemble(" " * indent, (label, "dim"), fix), soft_wrap=True)
