"""Approvers besides the terminal: a function, a list of rules, or a later decision from another process."""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import cast

import msgspec

from skills_runtime.errors import ConfigError
from skills_runtime.ports import ApprovalRequest, Approver, Decision, DecisionKind, Parked
from skills_runtime.safety.policy.patterns import tool_aliases

ApprovalFunction = Callable[[ApprovalRequest], DecisionKind | Decision | Awaitable[DecisionKind | Decision]]
"""Decides on one call; may be async."""


def as_approver(provider: "Approver | ApprovalFunction | None") -> Approver | None:
    """Return an approver for an object with `request_approval`, or for a plain function."""
    if provider is None or hasattr(provider, "request_approval"):
        return cast("Approver | None", provider)
    if not callable(provider):
        raise ConfigError(
            f"`approval_provider` is a `{type(provider).__name__}`, which cannot approve anything",
            hint='pass a function such as `def approve(request): return "approved"`',
        )
    return CallbackApprovals(provider)


class CallbackApprovals:
    """Asks a function, which may be async."""

    def __init__(self, decide: ApprovalFunction) -> None:
        self._decide = decide

    async def request_approval(
        self, *, request: ApprovalRequest, timeout_ms: int | None = None
    ) -> DecisionKind | Decision:
        """Decide on one call."""
        answer = self._decide(request)
        return await answer if inspect.isawaitable(answer) else answer


class InboxApprovals:
    """Leaves every request for a later decision: the run parks, and its process may end."""

    async def request_approval(
        self, *, request: ApprovalRequest, timeout_ms: int | None = None
    ) -> DecisionKind | Decision:
        """Raise `Parked`: a missing approver is not a decision."""
        raise Parked(request.call_id)


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
            if rule.tool in tool_aliases(request.tool):
                # A condition that cannot make sense of a request does not hold for it.
                with suppress(ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
                    if rule.condition is None or rule.condition(request):
                        return rule.decision
        return "denied"
