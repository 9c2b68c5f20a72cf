"""Whoever sits at the terminal decides on calls; nothing but a clear yes is a yes."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.cli.render import asking
from skills_runtime.cli.ruling import SCOPE_WORDS, line_argument, read_arguments, rules_of, why_no_rule
from skills_runtime.errors import SkillsRuntimeError, ValidationFailed
from skills_runtime.ports import ApprovalRequest, Decision, Parked
from skills_runtime.safety.approvals.proposal import as_recorded
from skills_runtime.safety.policy import Rule, add_rule

if TYPE_CHECKING:
    from skills_runtime.cli.terminal import Terminal

YES = "yes"
ONCE, SESSION = Decision(decision="approved"), Decision(decision="approved_for_session")
_WAYS = "answer with y, s, r, e, n or q; v shows everything"


class TerminalApprover:
    """Asks at the terminal whether a call may run; who ends the input leaves the request for later."""

    keeps_time = True  # what is asked at the same time is shown one after the other

    def __init__(self, terminal: "Terminal", *, who: str = "", rule_file: Path | None = None) -> None:
        self._terminal = terminal
        self._who = who
        self._rule_file = rule_file

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> Decision:
        """Decide on one call."""
        async with self._terminal.floor(), asyncio.timeout(timeout_ms / 1000 if timeout_ms else None):
            self._terminal.show(*asking.approval_lines(request))
            self._terminal.show(asking.ways_line(ruled=bool(self._rules(request)), timeout_ms=timeout_ms))
            decision = await self._decided(request)
        if decision is None:
            raise Parked(request.call_id)
        return msgspec.structs.replace(decision, decided_by=self._who)

    async def _decided(self, request: ApprovalRequest) -> Decision | None:
        """What they decide; nothing when they leave it for later."""
        while (line := await self._terminal.read(asking.ALLOW)) is not None:
            word, _, rest = line.strip().partition(" ")
            decision = await self._chosen(word.lower(), rest.strip(), request)
            if decision is not None:
                return decision
        self._terminal.show(asking.hint("the request waits; it can be decided later"))
        return None

    async def _chosen(self, word: str, rest: str, request: ApprovalRequest) -> Decision | None:
        """What a word means; nothing when it decides nothing."""
        match word, rest:
            case (("y" | "yes"), ""):
                return await self._allowed(request, ONCE, "it, once", sure=word == YES)
            case "s", "":
                return await self._allowed(request, SESSION, "this very call, also again in this session")
            case "", _:
                return Decision(decision="denied")
            case (("n" | "no"), _):
                return Decision(decision="denied", note=rest or (await self._terminal.read(asking.WHY) or "").strip())
            case "q", _:
                return Decision(decision="abort", note=rest)
            case "r", "":
                return await self._ruled(request)
            case "e", "":
                return await self._edited(request)
            case "v", "":
                self._terminal.show(*asking.approval_lines(request, whole=True))
            case _:
                self._terminal.show(asking.hint(_WAYS))
        return None

    async def _allowed(
        self, request: ApprovalRequest, decision: Decision, grant: str, *, sure: bool = False
    ) -> Decision | None:
        """A yes, which has to be typed out where much is at stake."""
        if sure or request.risk.get("level") != "high":
            return decision
        self._terminal.show(asking.hint(f"this is of high risk: `yes` allows {grant}"))
        return decision if await self._is_sure() else None

    async def _ruled(self, request: ApprovalRequest) -> Decision | None:
        """A yes with a rule, which is shown in full before anybody can say how far it reaches."""
        rules = self._rules(request)
        if not rules:
            self._terminal.show(asking.hint(why_no_rule(request)))
            return None
        self._terminal.show(*asking.rule_lines(rules))
        word = (await self._terminal.read(asking.WHICH) or "").strip().lower()
        if word not in rules or not self._keep(rules[word], word):
            return None
        return Decision(decision="approved", rule=as_recorded(rules[word], SCOPE_WORDS[word]))

    def _rules(self, request: ApprovalRequest) -> dict[str, Rule]:
        return rules_of(request, lasting=self._rule_file is not None)

    def _keep(self, rule: Rule, word: str) -> bool:
        """Add a rule that reaches further than the run to the user's own; false when that cannot be."""
        if word == "run" or self._rule_file is None:
            return True
        try:
            add_rule(self._rule_file, rule)
        except SkillsRuntimeError as error:
            self._terminal.show(asking.hint(f"{error.message}; {error.hint}"))
            return False
        self._terminal.show(asking.hint(f"the rule is in {self._rule_file}"))
        return True

    async def _edited(self, request: ApprovalRequest) -> Decision | None:
        """A yes to something else: a line of shell is typed anew as text, other arguments as JSON."""
        line = line_argument(request)
        typed = (await self._terminal.read(asking.COMMAND if line else asking.ARGUMENTS) or "").strip()
        if not typed:
            return None
        try:
            arguments = {**request.details, line: typed} if line else read_arguments(typed)
        except ValidationFailed as error:
            self._terminal.show(asking.hint(f"{error.message}; {error.hint}"))
            return None
        self._terminal.show(asking.instead_line(typed))
        return Decision(decision="approved", arguments=arguments) if await self._is_sure() else None

    async def _is_sure(self) -> bool:
        self._terminal.forget_typed()
        return (await self._terminal.read(asking.SURE) or "").strip().lower() == YES
