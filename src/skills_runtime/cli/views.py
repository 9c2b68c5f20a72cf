"""Which view shows a run: the log itself, next to nothing, or one line for each step."""

import sys
from collections.abc import Iterable

from skills_runtime.cli.execution import Plan, View
from skills_runtime.cli.options import ViewOptions
from skills_runtime.cli.program import Program


def view_of(options: ViewOptions, plan: Plan, notices: Iterable[str], program: Program) -> View:
    """The view somebody asked for."""
    if options.json:
        from skills_runtime.cli.render.jsonl import LogView

        return LogView(sys.stdout.buffer)
    if options.quiet:
        from skills_runtime.cli.render.quiet import QuietView

        return QuietView()
    from skills_runtime.cli.render.human import human_view

    return human_view(plan, notices, program=program.name, no_color=options.no_color)
