"""Who decides on the call that the demo asks about."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from skills_runtime.cli.terminal import InteractionOptions, Pause
from skills_runtime.engine import Interaction
from skills_runtime.events import Event
from skills_runtime.ports import ApprovalRequest, Decision


class DemoApprover:
    """Approves the one call that the demo asks about, without a terminal."""

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> Decision:
        """Approve the call, and say why."""
        del request, timeout_ms
        return Decision(decision="approved", decided_by="the demo itself", note="no terminal is attached")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoInteraction(InteractionOptions):
    """Asks at the terminal; without one, the demo approves its own call and says so."""

    def build_interaction(self, pause: Pause, listen: Callable[[Event], None]) -> Interaction:
        """Build the interaction of the demo."""
        interaction = super(DemoInteraction, self).build_interaction(pause, listen)
        return interaction if self.console else msgspec.structs.replace(interaction, approver=DemoApprover())
