"""Questions and requests for approval as somebody at a terminal sees them.

Pure: from values to lines.
"""

from collections.abc import Iterator, Mapping

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from skills_runtime.cli.render.console import labelled
from skills_runtime.cli.render.grants import grant_of
from skills_runtime.cli.render.request import call_lines, fact_lines, title_line
from skills_runtime.cli.render.text import duration, neutral, one_line
from skills_runtime.cli.ruling import SCOPE_WORDS
from skills_runtime.ports import ApprovalRequest, Question
from skills_runtime.safety.policy import Rule, rule_text

INDENT = 5
ANSWER, ALLOW, WHY, WHICH = (f"{'':{INDENT}}{prompt} " for prompt in ("answer>", "allow?", "why?", "which?"))
COMMAND, ARGUMENTS, SURE = (f"{'':{INDENT}}{prompt} " for prompt in ("command>", "arguments>", "type yes>"))
_WAYS = "[y] once  [s] this very call, also again in this session"
_OTHER_WAYS = "[e] change it  [n] no  [q] stop the run  [v] show everything"


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


def approval_lines(request: ApprovalRequest, *, whole: bool = False) -> Iterator[RenderableType]:
    """What a call would do, and what helps to judge it; `whole` leaves nothing out."""
    if not whole:
        yield title_line(request, indent=INDENT)
    yield from call_lines(request, indent=INDENT + 2, whole=whole).lines
    yield fact_lines(request, indent=INDENT + 2, whole=whole)


def ways_line(*, ruled: bool, timeout_ms: int | None = None) -> RenderableType:
    """What may be typed; `ruled` when a rule can be made of the call."""
    rule = "  [r] yes, and add a rule" if ruled else ""
    late = f"  (no after {duration(timeout_ms)})" if timeout_ms else ""
    return _paragraph(f"{_WAYS}{rule}\n{_OTHER_WAYS}{late}", style="dim")


def rule_lines(rules: Mapping[str, Rule]) -> Iterator[RenderableType]:
    """A rule in full, and what it would allow, by the words for how far it reaches."""
    yield _paragraph("the rule", style="bold")
    yield rule_paragraph(next(iter(rules.values())), indent=INDENT + 2)
    offers = {f"[{word}]": f"allow {grant_of(rule, SCOPE_WORDS[word])}" for word, rule in rules.items()}
    yield labelled(offers, indent=INDENT, width=0)
    yield hint("anything else goes back")


def rule_paragraph(rule: Rule, *, indent: int) -> RenderableType:
    """A rule as it stands in a rule file."""
    return Padding(Text(neutral(rule_text(rule).rstrip("\n")), overflow="fold"), (0, 0, 0, indent), expand=False)


def hint(text: str) -> RenderableType:
    """What may be typed instead."""
    return _paragraph(one_line(text), style="dim")


def instead_line(text: str) -> RenderableType:
    """What would be done instead, as somebody typed it."""
    return Padding(Text.assemble(("instead: ", "dim"), neutral(text)), (0, 0, 0, INDENT), expand=False)


def _paragraph(text: str, *, style: str) -> RenderableType:
    return Padding(Text(text, style=style), (0, 0, 0, INDENT), expand=False)
