"""How a run ended, or what it waits for, in a few lines."""

from rich.console import Console, Group
from rich.text import Text

from skills_runtime.cli.execution import Ending
from skills_runtime.cli.locate import short_id
from skills_runtime.cli.machine import shown_path
from skills_runtime.cli.render.console import labelled, room_beside, spread
from skills_runtime.cli.render.text import between, count, duration, money, one_line, plural
from skills_runtime.cli.render.waiting import wait_lines
from skills_runtime.cli.render.words import Sign, sign_of
from skills_runtime.cli.waits import CommandFor, command_for, waits_of
from skills_runtime.projections import RunState

_INDENT, _LABEL = 7, 5
_TROUBLED = Sign("✗", "stopped", "red")


def show_ending(console: Console, ending: Ending, steps: int, *, program: str, hint: str) -> None:
    """What came of a run, what it took, and where to look."""
    command = command_for(program, short_id(ending.state.run_id))
    result, numbers = _result(ending, command), Text(used(ending.state, steps), style="dim")
    if result.cell_len <= room_beside(console, numbers):
        console.print(spread(console, result, numbers))
    else:
        console.print(result)
        console.print(Text(" " * _INDENT).append_text(numbers))
    facts = {"hint": hint} if hint else {}
    facts |= {"hint": one_line(ending.trouble.hint)} if ending.trouble else {}
    waits = [] if ending.stopped else waits_of(ending.state, ending.pending, command)
    width = max([_LABEL, *(len(label) for wait in waits for label in wait.commands)])
    for wait in waits:
        console.print(Group(*wait_lines(wait, indent=_INDENT, width=width, titled=len(waits) > 1)))
    facts |= {"files": shown_path(ending.root), "show": command("runs show")}
    console.print(labelled(facts, indent=_INDENT, width=width))


def used(state: RunState, steps: int = 0) -> str:
    """Steps, those seen or those counted by the log, time, tokens, and money where prices are known."""
    elapsed = between(state.started_at, state.completed_at or state.updated_at)
    tokens = state.input_tokens + state.output_tokens + state.child_tokens
    cost = state.cost_usd + state.child_cost_usd
    paid = [money(cost)] if cost else []
    return " · ".join(
        [plural(max(steps, state.tool_calls), "step"), duration(elapsed), f"{count(tokens)} tokens", *paid]
    )


def why_waiting(ending: Ending, command: CommandFor) -> str:
    """What a run that has not ended waits for, in one line."""
    waits = waits_of(ending.state, ending.pending, command)
    return one_line("; ".join(wait.what for wait in waits) or ending.state.waiting_message)


def _result(ending: Ending, command: CommandFor) -> Text:
    state = ending.state
    if ending.stopped and not ending.trouble:
        return Text.assemble((" stopped", "bold cyan"), f"; go on with: {command('runs resume')}")
    sign = _TROUBLED if ending.trouble else sign_of(state.status, state.waiting_kind)
    word = "done" if state.status == "completed" else sign.word
    return Text.assemble((f" {word}", f"bold {sign.style}"), f"  {_reason(ending, command)}")


def _reason(ending: Ending, command: CommandFor) -> str:
    state = ending.state
    if ending.trouble:
        return one_line(ending.trouble.message)
    if state.status == "completed":
        return plural(len(state.artifacts), "deliverable")
    reason = one_line(state.failure_reason or "") or why_waiting(ending, command)
    return f"exit code {ending.exit_code}" if reason == state.status == "cancelled" else reason
