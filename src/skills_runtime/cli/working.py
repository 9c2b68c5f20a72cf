"""Working on a run from the command line: plan, execute, show, and leave the answer on stdout."""

from collections.abc import Callable, Iterable

from skills_runtime.cli.errors import Program
from skills_runtime.cli.execution import Ending, Plan, execute
from skills_runtime.cli.options import ViewOptions
from skills_runtime.cli.run_view import view_of
from skills_runtime.cli.state import this_ledger
from skills_runtime.cli.terminal import NOBODY, People
from skills_runtime.cli.text import write_answer
from skills_runtime.ledger import RunIndex

MakePlan = Callable[[RunIndex], tuple[Plan, Iterable[str]]]
"""From the index to what is to be done, and what the user should know first."""


def work_on(make: MakePlan, options: ViewOptions, program: Program, people: People = NOBODY) -> Ending:
    """Execute a plan with everything this machine has: its ledger, its terminal, its signals."""
    with this_ledger() as ledger:
        plan, notices = make(ledger.index)
        ending = execute(plan, ledger, view_of(options, plan, notices, program, people), people)
    if not options.json:
        write_answer(ending.answer)
    return ending
