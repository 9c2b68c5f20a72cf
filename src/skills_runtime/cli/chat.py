"""A session as a talk: each message that is typed is the task of a new run."""

import sys

from rich.text import Text

from skills_runtime.agent import RunRequest
from skills_runtime.cli.errors import Program, complain
from skills_runtime.cli.options import ViewOptions
from skills_runtime.cli.output import talk
from skills_runtime.cli.planning import plan_run
from skills_runtime.cli.terminal import People, wait_for_line
from skills_runtime.cli.working import work_on
from skills_runtime.config import Resolved
from skills_runtime.errors import SkillsRuntimeError

PROMPT = "you> "


def converse(resolved: Resolved, session_id: str, options: ViewOptions, program: Program, people: People) -> int:
    """Work on one message after the other until an empty one, or the end of the input; the last exit code counts."""
    console = talk(no_color=options.no_color)
    console.print(Text(f"session {session_id}; an empty line ends the talk", style="dim"))
    code = 0
    while message := _next_message(no_color=options.no_color):
        request = RunRequest(prompt=message, session_id=session_id)
        try:
            ending = work_on(
                lambda index, request=request: plan_run(resolved, request, index), options, program, people
            )
        except SkillsRuntimeError as error:  # such as a skill that is not there: the next message may be better
            code = complain(error, program)
            continue
        sys.stdout.flush()
        code = ending.exit_code
        if ending.signal is not None:
            break
    return code


def _next_message(*, no_color: bool) -> str:
    """What is typed next; nothing when that is nothing, or the end of the input."""
    console = talk(no_color=no_color)
    console.print(Text(PROMPT, style="bold cyan"), end="")
    console.file.flush()
    line = wait_for_line(sys.stdin.fileno())
    if line is None:
        console.print()
    return (line or "").strip()
