"""Who can be asked while a run works: somebody at the terminal, or nobody."""

import asyncio
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from skills_runtime.cli.answers import chosen
from skills_runtime.cli.options import ViewOptions
from skills_runtime.ports import ApprovalRequest, Approver, DecisionKind, HumanIO, Parked, Question

if TYPE_CHECKING:
    from rich.console import Console

    from skills_runtime.cli.terminal import Pause, Terminal

_DECISIONS: dict[str, DecisionKind] = {
    "y": "approved",
    "yes": "approved",
    "s": "approved_for_session",
    "n": "denied",
    "no": "denied",
    "": "denied",
    "q": "abort",
}
"""What may be typed; nothing at all is a no."""
SHOW_ALL = "v"


class Met(NamedTuple):
    """Those who answer for one run."""

    human: HumanIO | None
    approver: Approver | None


@dataclass(frozen=True, slots=True)
class People:
    """Those who may be asked by the runs of one command."""

    console: "Console | None" = None
    """Where they sit; nothing when nobody is there."""
    allowed: set[str] = field(default_factory=set[str])
    """The requests that were approved for as long as the command lasts."""

    def meet(self, pause: "Pause") -> Met:
        """Those who answer for a run that is shown by somebody who can pause."""
        if self.console is None:
            return Met(None, None)
        from skills_runtime.cli.terminal import Terminal

        terminal = Terminal(self.console, pause, fd=sys.stdin.fileno())
        return Met(TerminalHuman(terminal), TerminalApprover(terminal, self.allowed))


NOBODY = People()


def people_here(options: ViewOptions) -> People:
    """Whoever sits at the terminal, unless the command is to be silent."""
    from skills_runtime.cli.terminal import somebody_is_there

    if options.json or options.quiet or not somebody_is_there():
        return NOBODY
    from skills_runtime.cli.render.console import talk

    return People(talk(no_color=options.no_color))


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


class TerminalApprover:
    """Asks at the terminal whether a call may run; only a clear yes is a yes."""

    def __init__(self, terminal: "Terminal", allowed: set[str]) -> None:
        self._terminal = terminal
        self._allowed = allowed

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
        """Decide on one call; a request that was approved for the session is not asked about again."""
        from skills_runtime.cli.render.asking import approval_lines

        if request.approval_key in self._allowed:
            return "approved_for_session"
        async with self._terminal.floor():
            if request.approval_key in self._allowed:  # while it waited for its turn
                return "approved_for_session"
            self._terminal.show(*approval_lines(request, timeout_ms=timeout_ms))
            decision = await self._decision(request)
        if decision == "approved_for_session":
            self._allowed.add(request.approval_key)
        return decision

    async def _decision(self, request: ApprovalRequest) -> DecisionKind:
        from skills_runtime.cli.render.asking import ALLOW, approval_lines, hint

        while (line := await self._terminal.read(ALLOW)) is not None:
            word = line.strip().lower()
            if word in _DECISIONS:
                return _DECISIONS[word]
            if word == SHOW_ALL:
                self._terminal.show(*approval_lines(request, whole=True))
            else:
                self._terminal.show(hint("answer with y, s, n or q"))
        return "denied"
