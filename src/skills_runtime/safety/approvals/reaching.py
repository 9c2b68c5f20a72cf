"""Asking about a host that no rule names, while the command that wants to reach it waits.

A command cannot be put to sleep for days: whoever decides has as long as an approval at the terminal may take, from
wherever they do it. After that, or where nobody is there at all, it is a no.
"""

import asyncio
from contextlib import suppress

import msgspec

from skills_runtime.errors import LogError
from skills_runtime.ports import ApprovalRequest, Approver, Decision, DecisionKind, Intent, Parked
from skills_runtime.safety.approvals.asking import Asking, Room, ask, void
from skills_runtime.safety.approvals.request import Wanted
from skills_runtime.safety.policy import Ask, approval_key

NETWORK = "network"
"""What a request about a host names in the place of a tool: a yes to a tool says nothing about hosts."""
RULE = "sandbox.egress.unknown: ask"
LONGEST_MS = 60_000
"""How long a command waits where the settings set no limit."""
MAX_DENIALS = 2
"""How often a run asks about the same host."""
APPROVALS = frozenset({"approved", "approved_for_session"})
OVER = "the command that asked is over"


class Patient:
    """Waits where the other would leave a request for later: somebody elsewhere may decide in the meantime."""

    def __init__(self, approver: Approver) -> None:
        self._approver = approver

    async def request_approval(
        self, *, request: ApprovalRequest, timeout_ms: int | None = None
    ) -> DecisionKind | Decision:
        """Decide on one request, or never."""
        try:
            return await self._approver.request_approval(request=request, timeout_ms=timeout_ms)
        except Parked:
            await asyncio.Event().wait()
            raise


async def ask_about_host(host: str, port: int, tool: str, room: Room, asking: Asking) -> DecisionKind:
    """What is decided about a host for one command; a request that nobody answers is withdrawn in the end."""
    wanted = _wanted(host, port, tool)
    if room.approvals.denials.get(wanted.key, 0) >= MAX_DENIALS:
        return "denied"
    timeout_ms = asking.timeout_ms or LONGEST_MS
    waiting = msgspec.structs.replace(
        asking, approver=Patient(asking.approver), timeout_ms=timeout_ms, expires_sec=timeout_ms / 1000 + 1
    )
    try:
        settled = await ask(wanted, room, waiting)
    except (Parked, asyncio.CancelledError) as error:
        _withdraw(room)
        if isinstance(error, Parked):  # somebody wants the run to stop
            return "denied"
        raise
    if settled.decision == "abort":
        return "abort"
    # Whoever changes what is asked about has not said yes to this.
    return "approved" if settled.decision in APPROVALS and settled.arguments_blob is None else "denied"


def _wanted(host: str, port: int, tool: str) -> Wanted:
    shown = {"host": host, "port": port}
    return Wanted(
        key=approval_key(NETWORK, shown),
        tool=NETWORK,
        summary=f"{tool} wants to reach {host}:{port}",
        shown=shown,
        arguments=shown,
        intent=Intent(hosts=(f"{host}:{port}",)),
        risk={"level": "medium", "reason": "reaches a host that no rule names", "part": f"{host}:{port}"},
        asked_by=Ask(RULE),
    )


def _withdraw(room: Room) -> None:
    asked = room.approvals.of_call(room.call_id)
    if asked is not None:
        with suppress(LogError):  # the run may have ended, and its requests with it
            void(room, asked.approval_id, asked.approval_key, reason="expired", message=OVER)
