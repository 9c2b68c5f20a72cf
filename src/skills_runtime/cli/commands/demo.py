"""demo: one complete run without a network, to see what a run is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from skills_runtime.cli.options import NoColor
from skills_runtime.cli.program import Command, Program

FILES = Path(__file__).parents[1] / "demo"


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """What `demo` takes."""

    output: Annotated[str, typer.Option("--output", "-o", metavar="DIR", help="Where the new run directory goes.")] = (
        "demo-output"
    )
    no_color: NoColor = False


def demo(options: DemoOptions, program: Program) -> int:
    """Run a small scripted task offline and verify it."""
    from skills_runtime.agent import RunRequest
    from skills_runtime.cli.checking import check_run
    from skills_runtime.cli.execution import execute
    from skills_runtime.cli.machine import checked_path, this_ledger
    from skills_runtime.cli.planning import plan_run
    from skills_runtime.cli.render.answer import write_answer
    from skills_runtime.cli.render.human import human_view
    from skills_runtime.cli.render.tour import show_tour
    from skills_runtime.clock import RandomIds
    from skills_runtime.config import resolve
    from skills_runtime.engine.demos import read_demo
    from skills_runtime.runs import RunPaths

    run_id = RandomIds().new("run")
    place = checked_path(options.output, option="--output") / run_id
    shown = read_demo(FILES)
    request = RunRequest(prompt=shown.prompt, sandbox_path=place, run_id=run_id)
    with this_ledger() as ledger:
        plan, notices = plan_run(resolve(Path.cwd(), session_settings=shown.settings), request, ledger.index)
        ending = execute(plan, ledger, human_view(plan, notices, program=program.name, no_color=options.no_color))
    write_answer(ending.state.final_output)
    if ending.exit_code:
        return ending.exit_code
    verdict, _ = check_run(RunPaths(ending.root))
    show_tour(ending.root, verdict, program=program.name, no_color=options.no_color)
    return 0 if verdict.ok else 20


COMMAND = Command(options=DemoOptions, work=demo, examples=("demo", "demo --output ./first-look"))
