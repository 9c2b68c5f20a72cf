"""Options that several commands share, as dataclasses to inherit from."""

from dataclasses import dataclass, field
from typing import Annotated

import typer

NoColor = Annotated[bool, typer.Option("--no-color", help="No colours; the variable NO_COLOR does the same.")]
RunReference = Annotated[str, typer.Argument(metavar="RUN", help="A run directory, a run id, or how the id begins.")]
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
class ViewOptions:
    """How a run is shown while it works."""

    json: Annotated[bool, typer.Option("--json", help="Write the event log itself to stdout, as it grows.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer, and errors.")] = False
    no_color: NoColor = False
