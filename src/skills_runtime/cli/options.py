"""Options that several commands share, as dataclasses to inherit from."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

import typer

NoColor = Annotated[bool, typer.Option("--no-color", help="No colours; the variable NO_COLOR does the same.")]
RunReference = Annotated[str, typer.Argument(metavar="RUN", help="A run directory, a run id, or how the id begins.")]
ApprovalReference = Annotated[
    str, typer.Argument(metavar="ID", help="The id of a request, how it begins, or the run, if that has one only.")
]
Approving = Literal["terminal", "inbox", "none"]
"""Who decides on calls that must be approved."""
Json = Annotated[bool, typer.Option("--json", help="Write JSON for programs.")]


@dataclass(frozen=True, kw_only=True)
class WorkspaceOptions:
    """Where the user works."""

    workspace_root: Annotated[
        str, typer.Option("--workspace-root", metavar="DIR", help="The directory whose configuration and runs count.")
    ] = "."


@dataclass(frozen=True, kw_only=True)
class RunOptions(WorkspaceOptions):
    """Which run is meant."""

    run: RunReference


@dataclass(frozen=True, kw_only=True)
class ConfigOptions(WorkspaceOptions):
    """Settings given on the command line."""

    config: Annotated[
        list[str], typer.Option("--config", metavar="FILE", help="A configuration file; repeat it for more.")
    ] = field(default_factory=list[str])
    set: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="One setting, such as run.max_steps=5; repeatable.")
    ] = field(default_factory=list[str])


@dataclass(frozen=True, kw_only=True)
class SkillSettingsOptions(ConfigOptions):
    """Whose settings of skills are judged."""

    no_dotenv: Annotated[bool, typer.Option("--no-dotenv", help="Do not read a `.env` file.")] = False


@dataclass(frozen=True, kw_only=True)
class ViewOptions:
    """How a run is shown while it works."""

    json: Annotated[bool, typer.Option("--json", help="Write the event log itself to stdout, as it grows.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer, and errors.")] = False
    no_color: NoColor = False


@dataclass(frozen=True, kw_only=True)
class ApprovalOptions:
    """Who is asked about calls while a run works."""

    approvals: Annotated[
        Approving | None,
        typer.Option(
            "--approvals",
            help="Who approves calls: you at the terminal, somebody later (the run waits), or nobody (it fails).",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class WorkOptions(ConfigOptions, ViewOptions):
    """What every command takes that works on a run."""


@dataclass(frozen=True, kw_only=True)
class DecisionOptions(WorkOptions):
    """Which request is decided, and what follows."""

    approval: ApprovalReference
    no_resume: Annotated[
        bool, typer.Option("--no-resume", help="Only keep the decision; the run goes on when somebody resumes it.")
    ] = False
