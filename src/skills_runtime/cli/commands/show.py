"""runs show: one run on a page."""

import sys
from dataclasses import dataclass

from skills_runtime.cli.options import Json, NoColor, RunOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class ShowOptions(RunOptions):
    """What `runs show` takes."""

    json: Json = False
    no_color: NoColor = False


def show(options: ShowOptions, program: Program) -> int:
    """Show one run: state, steps, files, open questions."""
    from skills_runtime.cli.locate import find_run
    from skills_runtime.cli.machine import log_ports
    from skills_runtime.cli.reading import read_page
    from skills_runtime.cli.render.page import show_page, write_page

    page = read_page(find_run(options.run, options.workspace_root), log_ports().keys)
    if options.json:
        write_page(page, sys.stdout)
    else:
        show_page(page, options.run, program=program.name, no_color=options.no_color)
    return 0


COMMAND = Command(options=ShowOptions, work=show, examples=("runs show ./runs/demo-001", "runs show demo-001 --json"))
