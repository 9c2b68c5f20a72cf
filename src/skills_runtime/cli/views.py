"""Which view shows a run: the log itself, next to nothing, or one line for each step."""

import sys
from collections.abc import Iterable

from skills_runtime.cli.errors import Program
from skills_runtime.cli.execution import Plan
from skills_runtime.cli.options import ViewOptions
from skills_runtime.cli.people import NOBODY, People
from skills_runtime.cli.showing import View


def view_of(
    options: ViewOptions, plan: Plan, notices: Iterable[str], program: Program, people: People = NOBODY
) -> View:
    """The view somebody asked for."""
    if options.json:
        from skills_runtime.cli.render.jsonl import LogView

        return LogView(sys.stdout.buffer)
    if options.quiet:
        from skills_runtime.cli.render.quiet import QuietView

        return QuietView(program.name)
    from skills_runtime.cli.render.human import human_view

    return human_view(
        plan, notices, program=program.name, no_color=options.no_color, asked_here=people.console is not None
    )
