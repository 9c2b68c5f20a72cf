"""Who can be asked while a run works: somebody at the terminal, or nobody."""

import asyncio
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from skills_runtime.cli.answers import chosen
from skills_runtime.cli.machine import login_name
from skills_runtime.cli.options import Approving, ViewOptions
from skills_runtime.errors import ValidationFailed
from skills_runtime.ports import Approver, HumanIO, Parked, Question
from skills_runtime.safety import InboxApprovals

if TYPE_CHECKING:
    from rich.console import Console

    from skills_runtime.cli.terminal import Pause, Terminal


class Met(NamedTuple):
    """Those who answer for one run."""

    human: HumanIO | None
    approver: Approver | None


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Those who may be asked by the runs of one command."""

    console: "Console | None" = None
    """Where they sit; nothing when nobody is there."""
    approvals: Approving = "none"
    """Who decides on calls."""
    rule_file: Path | None = None
    """Where the rules of whoever sits there are."""
    remembered: dict[str, str] = field(default_factory=dict[str, str])
    """What was approved for as long as the command lasts, and by whom."""

    def meet(self, pause: "Pause") -> Met:
        """Those who answer for a run that is shown by somebody who can pause."""
        later = InboxApprovals() if self.approvals == "inbox" else None
        if self.console is None:
            return Met(None, later)
        from skills_runtime.cli.terminal import Terminal

        terminal = Terminal(self.console, pause, fd=sys.stdin.fileno())
        if self.approvals != "terminal":
            return Met(TerminalHuman(terminal), later)
        from skills_runtime.cli.approver import TerminalApprover

        approver = TerminalApprover(terminal, who=login_name(), rule_file=self.rule_file)
        return Met(TerminalHuman(terminal), approver)


NOBODY = People()


def people_here(
    options: ViewOptions,
    approvals: Approving | None = None,
    *,
    otherwise: Approving = "none",
    rule_file: Path | None = None,
) -> People:
    """Whoever sits at the terminal, unless the command is to be silent; who approves, or `otherwise` without them."""
    from skills_runtime.cli.terminal import somebody_is_there

    if options.json or options.quiet or not somebody_is_there():
        if approvals == "terminal":
            raise ValidationFailed(
                "`--approvals terminal` needs somebody at a terminal, and nobody is asked here",
                hint="`--approvals inbox` lets the run wait for `approvals approve`",
            )
        return People(approvals=approvals or otherwise)
    from skills_runtime.cli.render.console import talk

    console = talk(no_color=options.no_color)
    return People(console=console, approvals=approvals or "terminal", rule_file=rule_file)


class TerminalHuman:
    """Asks questions at the terminal; who ends the input leaves a question for later."""

    def __init__(self, terminal: "Terminal") -> None:
        self._terminal = terminal

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        """What they type, or the choice whose number they type."""
        from skills_runtime.cli.render.asking import hint, question_lines

        async with self._terminal.floor():
            self._terminal.show(*question_lines(question))
            try:
                async with asyncio.timeout(timeout_ms / 1000 if timeout_ms else None):
                    answer = await self._answer(question)
            except TimeoutError:
                answer = None
            if answer is None:
                self._terminal.show(hint("the question waits; it can be answered later"))
                raise Parked(call_id)
            return answer

    async def _answer(self, question: Question) -> str | None:
        from skills_runtime.cli.render.asking import ANSWER, hint

        while (line := await self._terminal.read(ANSWER)) is not None:
            if line.strip():
                return chosen(line, [choice.label for choice in question.choices])
            self._terminal.show(hint("type an answer; Ctrl-D leaves the question for later"))
        return None
