"""What the commands of a call do on the network: every decision is recorded, and summed up in the result."""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from skills_runtime.errors import ApprovalDenied, LogError
from skills_runtime.events.payloads import NetworkDecision
from skills_runtime.ports import ToolContext

if TYPE_CHECKING:
    from skills_runtime.sandbox.egress import Account, Doorman, EgressRecord, Gateway


class Network:
    """The network of one command, if it comes to have one; without a context what happens waits to be told."""

    def __init__(self, context: ToolContext | None = None) -> None:
        self._context = context
        self._account: Account | None = None
        self._untold: deque[EgressRecord] = deque()
        self._gateway: Gateway | None = None
        self.session_id: int | None = None

    def attach(self, session_id: int, gateway: "Gateway | None") -> None:
        """Belong to a session from now on."""
        self.session_id, self._gateway = session_id, gateway

    @property
    def stop(self) -> Exception | None:
        """Why the run itself has to stop, if it has: its log is full, or somebody who was asked wants that."""
        failure = self._gateway.failure if self._gateway is not None else None
        return failure if isinstance(failure, LogError | ApprovalDenied) else None

    def doorman(self) -> "Doorman":
        """Who hears of every decision, and asks about hosts that no rule names."""
        from skills_runtime.sandbox.egress import Account, Doorman

        self._account = Account()
        return Doorman(record=self._record, ask=self._context.may_reach if self._context is not None else None)

    def evidence(self, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        """The evidence of the fence, with what happened so far."""
        return evidence if self._account is None else {**evidence, "network": self._account.summary()}

    def untold(self) -> "Iterator[EgressRecord]":
        """What waits to be told, each once."""
        while self._untold:
            yield self._untold.popleft()

    def _record(self, record: "EgressRecord") -> None:
        if self._account is not None:
            self._account.add(record)
        if self._context is None:
            self._untold.append(record)
        else:
            tell(record, self._context, self.session_id)


def tell(record: "EgressRecord", context: ToolContext, session_id: int | None = None) -> None:
    """Record one decision on behalf of a call."""
    context.emit(
        NetworkDecision(
            call_id=context.call_id,
            number=record.number,
            stage=record.stage,
            verdict=record.verdict,
            host=record.host,
            port=record.port,
            protocol=record.protocol,
            by=record.by,
            reason=record.reason,
            kind=record.kind,
            rule=record.rule,
            address=record.address,
            bytes_up=record.bytes_up,
            bytes_down=record.bytes_down,
            session_id=session_id,
        )
    )
