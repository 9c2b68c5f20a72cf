"""skills route: which skills a task calls for, and why."""

import sys
from dataclasses import dataclass, field
from typing import Annotated

import typer

from skills_runtime.cli.options import ConfigOptions, Json
from skills_runtime.cli.program import Command, Program
from skills_runtime.errors import ValidationFailed

MAX_LIMIT = 100


@dataclass(frozen=True, kw_only=True)
class SkillsRouteOptions(ConfigOptions):
    """What `skills route` takes."""

    task: Annotated[str, typer.Argument(metavar="TASK", help="What somebody wants to have done.")]
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=MAX_LIMIT, help="How many skills to name.")
    ] = 5
    path: Annotated[list[str], typer.Option("--path", metavar="FILE", help="A file the task is about; repeatable.")] = (
        field(default_factory=list[str])
    )
    source: Annotated[
        list[str],
        typer.Option("--from", metavar="DIR", help="Choose among the skills below a directory instead; repeatable."),
    ] = field(default_factory=list[str])
    json: Json = False


def skills_route(options: SkillsRouteOptions, program: Program) -> int:
    """Explain which skills a task calls for, and what the model would be told."""
    from skills_runtime.agent.skills.libraries import library_of
    from skills_runtime.cli.machine import checked_text
    from skills_runtime.cli.render.routing import show_routing, write_routing
    from skills_runtime.cli.routing import budget_of, explained, library_at
    from skills_runtime.cli.settings import resolve_settings

    task = checked_text(options.task, "TASK")
    if not task.strip():
        raise ValidationFailed("there is no task to choose skills for", hint="say what somebody wants to have done")
    resolved = resolve_settings(options, program=program.name)
    library = library_at(options.source) if options.source else library_of(resolved)
    paths = [checked_text(path, "--path") for path in options.path]
    found = explained(task, library, paths=paths, limit=options.limit, budget_tokens=budget_of(resolved))
    (write_routing if options.json else show_routing)(found, sys.stdout)
    return 0


COMMAND = Command(
    options=SkillsRouteOptions,
    work=skills_route,
    examples=('skills route "turn these notes into slides"', 'skills route "fix the build" --limit 3 --json'),
)
