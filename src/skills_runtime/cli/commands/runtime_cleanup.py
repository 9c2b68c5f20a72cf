"""runtime cleanup: ends what runs in the runtime server, or what a dead one has left."""

import sys

from skills_runtime.cli.commands.runtime_status import RuntimeOptions
from skills_runtime.cli.program import Command, Program


def runtime_cleanup(options: RuntimeOptions, program: Program) -> int:
    """End all sessions and child agents, and what a dead server has left."""
    from skills_runtime.cli.render.serving import cleanup_lines, write_answer
    from skills_runtime.cli.serving import client_for

    del program
    answer = client_for(options.workspace_root).clean_up()
    write_answer(answer, cleanup_lines(answer), sys.stdout, as_json=options.json)
    return 0


COMMAND = Command(options=RuntimeOptions, work=runtime_cleanup, examples=("runtime cleanup", "runtime cleanup --json"))
