"""Questions and requests for approval as somebody at a terminal sees them.

Pure: from values to lines.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from skills_runtime.cli.render.console import cut, labelled
from skills_runtime.cli.render.text import count, duration, neutral, one_line
from skills_runtime.ports import ApprovalRequest, Question

ANSWER = "     answer> "
ALLOW = "     allow? "
INDENT = 5
LABEL_CELLS = 24
SHOWN_LINES = 20
SHOWN_CHARS = 2000


def question_lines(question: Question) -> Iterator[RenderableType]:
    """A question with its choices, numbered."""
    title = f"{one_line(question.header)}: " if question.header else ""
    yield _paragraph(f"{title}{neutral(question.question)}", style="bold")
    if question.context:
        yield _paragraph(neutral(question.context), style="dim")
    choices = {
        str(number): one_line(choice.label) + (f"  {one_line(choice.description)}" if choice.description else "")
        for number, choice in enumerate(question.choices, start=1)
    }
    if choices:
        yield labelled(choices, indent=INDENT, width=2)


def approval_lines(
    request: ApprovalRequest, *, timeout_ms: int | None = None, whole: bool = False
) -> Iterator[RenderableType]:
    """What a call would do, with its real arguments, and what may be typed; `whole` leaves nothing out."""
    yield Text.assemble(" " * INDENT, (one_line(request.tool), "bold"), " needs your approval")
    facts, left_out = _arguments(request.details, whole=whole)
    yield labelled(facts, indent=INDENT + 2, width=8)
    ways = "[y] once  [s] this very call, also again in this session  [n] no  [q] stop the run"
    more = "  [v] show everything" if left_out else ""
    late = f"  (no after {duration(timeout_ms)})" if timeout_ms else ""
    yield _paragraph(f"{ways}{more}{late}", style="dim")


def hint(text: str) -> RenderableType:
    """What may be typed instead."""
    return _paragraph(text, style="dim")


def _arguments(details: Mapping[str, Any], *, whole: bool) -> tuple[dict[str, str], bool]:
    """The arguments as text, and whether some of it was left out."""
    facts: dict[str, str] = {}
    left_out = False
    for name, value in details.items():
        text = neutral(value if isinstance(value, str) else msgspec.json.encode(value).decode())
        shown = text if whole else "\n".join(text[:SHOWN_CHARS].split("\n")[:SHOWN_LINES])
        rest = len(text) - len(shown)
        left_out = left_out or rest > 0
        label = cut(one_line(name), LABEL_CELLS)
        while label in facts:  # two names that look alike must not hide an argument
            label += "'"
        facts[label] = f"{shown}\n… {count(rest)} more characters" if rest else shown
    return facts, left_out


def _paragraph(text: str, *, style: str) -> RenderableType:
    return Padding(Text(text, style=style), (0, 0, 0, INDENT), expand=False)
