"""Options that several commands share, as annotated types, and the values that two groups of them make.

Knows typer and nothing of runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer


def repeatable(*names: str, metavar: str, help: str) -> Any:
    """Describe an option that may be given several times, and is an empty list where it is not."""
    return typer.Option(*names, metavar=metavar, help=help, default_factory=list, show_default=False)


Approving = Literal["terminal", "inbox", "none"]
"""Who decides on calls that must be approved."""

Json = Annotated[bool, typer.Option("--json", help="Write JSON for programs.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colours; the variable NO_COLOR does the same.")]
RunReference = Annotated[str, typer.Argument(metavar="RUN", help="A run directory, a run id, or how the id begins.")]
ApprovalReference = Annotated[
    str, typer.Argument(metavar="ID", help="The id of a request, how it begins, or the run, if that has one only.")
]
WorkspaceRoot = Annotated[
    str, typer.Option("--workspace-root", metavar="DIR", help="The directory whose configuration and runs count.")
]

ConfigFiles = Annotated[
    list[str],
    repeatable("--config", metavar="FILE", help="A configuration file; repeat it for more."),
]
Assignments = Annotated[
    list[str],
    repeatable("--set", metavar="KEY=VALUE", help="One setting, such as run.max_steps=5; repeatable."),
]

EventsAsJson = Annotated[bool, typer.Option("--json", help="Write the event log itself to stdout, as it grows.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer, and errors.")]
Approvals = Annotated[
    Approving | None,
    typer.Option(
        "--approvals",
        help="Who approves calls: you at the terminal, somebody later (the run waits), or nobody (it fails).",
    ),
]


@dataclass(frozen=True, slots=True)
class ConfigOptions:
    """Where the user works, and the settings given on the command line."""

    workspace_root: str = "."
    files: Sequence[str] = ()
    assignments: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """How a run is shown while it works."""

    json: bool = False
    quiet: bool = False
    no_color: bool = False
