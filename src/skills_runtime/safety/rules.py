"""An approver that is a list of rules: for runs that nobody watches."""

from collections.abc import Callable, Iterable

import msgspec

from skills_runtime.ports import ApprovalRequest, DecisionKind


class ApprovalRule(msgspec.Struct, frozen=True, kw_only=True):
    """What is decided for calls of a tool, when the condition holds for their request."""

    tool: str
    decision: DecisionKind
    condition: Callable[[ApprovalRequest], bool] | None = None


class RuleBasedApprovalProvider:
    """Takes the first rule that fits; what no rule fits is denied."""

    def __init__(self, rules: Iterable[ApprovalRule] = ()) -> None:
        self._rules = tuple(rules)

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
        """Decide on one call."""
        for rule in self._rules:
            if _fits(rule, request):
                return rule.decision
        return "denied"


def _fits(rule: ApprovalRule, request: ApprovalRequest) -> bool:
    if rule.tool != request.tool:
        return False
    try:
        return rule.condition is None or bool(rule.condition(request))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False  # a condition that cannot make sense of a request does not hold for it
