"""The gate a call passes: a rule, and where the rule says so, somebody who decides.

Nothing passes by omission: no rule means ask, and nobody to ask means no.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, get_args

import msgspec

from skills_runtime.errors import ApprovalDenied, ConfigError
from skills_runtime.events import Payload
from skills_runtime.events.payloads import ApprovalDecided, ApprovalRequested
from skills_runtime.ports import ApprovalRequest, Approver, DecisionKind, ToolSpec
from skills_runtime.safety.policy import Allow, Ask, Deny, SafetyMode, approval_key, decide
from skills_runtime.safety.sanitize import sanitize

APPROVALS = frozenset({"approved", "approved_for_session"})

Record = Callable[[Payload], Awaitable[None]]
"""Writes an event and returns when it is durable."""


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one run, and who is asked."""

    mode: SafetyMode = "ask"
    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    approver: Approver | None = None
    timeout_ms: int | None = None

    def rule(self, spec: ToolSpec) -> Allow | Ask | Deny:
        """What the rules say about calls of a tool."""
        return decide(spec.effect, self.mode, tool=spec.name, allowed=self.allowed, denied=self.denied)

    def refuse_unanswerable(self, spec: ToolSpec) -> None:
        """Raise when a call would have to be asked about and nobody is there."""
        if self.approver is None and isinstance(self.rule(spec), Ask):
            raise ConfigError(
                f"`{spec.name}` needs an approval and nobody can give one",
                hint="set `safety.mode: allow` in your own configuration, or give the agent an approval provider",
            )

    async def refusal(self, spec: ToolSpec, call_id: str, arguments: Mapping[str, Any], record: Record) -> str | None:
        """Why the call may not run, or nothing when it may."""
        match self.rule(spec):
            case Allow():
                return None
            case Deny(rule=rule):
                return f"denied by {rule}"
            case Ask():
                return await self._ask(spec, call_id, arguments, record) if self.approver else "nobody can approve this"

    async def _ask(self, spec: ToolSpec, call_id: str, arguments: Mapping[str, Any], record: Record) -> str | None:
        request = sanitize(spec, arguments)
        key = approval_key(spec.name, request)
        summary = f"{spec.name} {msgspec.json.encode(request).decode()}"[:500]
        await record(
            ApprovalRequested(approval_key=key, tool=spec.name, call_id=call_id, summary=summary, request=request)
        )
        # Who decides sees the real arguments; the log keeps what may be shown.
        asked = ApprovalRequest(approval_key=key, tool=spec.name, summary=summary, details=dict(arguments))
        decision, reason = await self._decision(asked)
        await record(ApprovalDecided(approval_key=key, decision=decision, reason=reason, call_id=call_id))
        if decision == "abort":
            raise ApprovalDenied("the approver stopped the run")
        return None if decision in APPROVALS else f"the approver said: {decision} ({reason})"

    async def _decision(self, asked: ApprovalRequest) -> tuple[str, str]:
        """What was decided and by what; only a clear yes in time is a yes."""
        assert self.approver is not None, "checked by the caller"
        try:
            async with asyncio.timeout(self.timeout_ms / 1000 if self.timeout_ms else None):
                decision: str = await self.approver.request_approval(request=asked, timeout_ms=self.timeout_ms)
        except TimeoutError:
            return "denied", "timeout"
        return (decision, "provider") if decision in get_args(DecisionKind) else ("denied", "invalid_decision")
