"""How a routing decision is written: as lines for people, as JSON for programs."""

from typing import TextIO

import msgspec

from skills_runtime.cli.render.text import one_line, plural
from skills_runtime.cli.routing import Explained, ExplainedChoice
from skills_runtime.skills.catalog import CatalogReport

_DECIDED = {
    "mention": "decided: the task names the skill",
    "trigger": "decided: the task has words that a skill declares",
    "path": "decided: the task is about files that a skill declares",
    "model": "not decided: the model chooses; by the words they share with the task, these fit best",
}


def write_routing(explained: Explained, out: TextIO) -> None:
    """Write the decision for programs."""
    out.write(msgspec.json.format(msgspec.json.encode(explained)).decode() + "\n")


def show_routing(explained: Explained, out: TextIO) -> None:
    """Write the decision for a person."""
    for notice in explained.notices:
        out.write(f"notice: {one_line(notice)}\n")
    if explained.choices:
        out.write(f"{_DECIDED[explained.decided_by]}\n")
    else:
        out.write("no skill has anything to do with this task\n")
    for place, choice in enumerate(explained.choices, 1):
        _show_choice(place, choice, out)
    out.write(f"{_told(explained.catalog)}\n")


def _show_choice(place: int, choice: ExplainedChoice, out: TextIO) -> None:
    out.write(f"{place:3}. {one_line(choice.mention)}  {choice.rule} {choice.score:.2f}\n")
    out.write(f"     why: {one_line(choice.reason)}\n")
    out.write(f"     in the prompt: {one_line(choice.prompt) or 'not listed; it does not fit'}\n")


def _told(report: CatalogReport) -> str:
    listed = (
        f"the model is told of {plural(report.offered, 'skill')}, in {report.tokens} of {report.budget_tokens} tokens"
    )
    hidden = f"; {plural(report.hidden, 'skill')} only people may call" if report.hidden else ""
    return f"{listed}{hidden}" + (f"; {report.reason}" if report.reason else "")
