"""verify, and runs verify: is a run directory what its run left behind?"""

import sys
from dataclasses import dataclass

from skills_runtime.cli.options import Json, NoColor, RunOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(RunOptions):
    """What `verify` takes."""

    json: Json = False
    no_color: NoColor = False


def verify(options: VerifyOptions, program: Program) -> int:
    """Check a run against its log, and the log against its key."""
    from skills_runtime.cli.checking import check_run
    from skills_runtime.cli.locate import find_run
    from skills_runtime.cli.render.console import answers
    from skills_runtime.cli.render.text import one_line
    from skills_runtime.cli.render.verdict import show_verdict, write_verdict

    verdict, notices = check_run(find_run(options.run, options.workspace_root))
    if options.json:
        write_verdict(verdict, sys.stdout)
    else:
        for notice in notices:
            sys.stderr.write(f"notice: {one_line(notice)}\n")
        show_verdict(verdict, answers(no_color=options.no_color))
    return 0 if verdict.ok else 20


COMMAND = Command(
    options=VerifyOptions, work=verify, examples=("verify ./runs/demo-001", "runs verify demo-001 --json")
)
