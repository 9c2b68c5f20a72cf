"""What a command of `sandbox exec` did on the network: there is no run that could record it, so it is evidence."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skills_runtime.sandbox.egress import Account, Doorman, EgressRecord

MAX_DECISIONS = 1000
"""How many decisions are told one by one; all are counted."""


class Visits:
    """Hears of every decision; nobody can be asked about a host, for the terminal belongs to the command."""

    def __init__(self) -> None:
        self._account: Account | None = None
        self._decisions: list[EgressRecord] = []

    def doorman(self) -> "Doorman":
        """Who hears of every decision."""
        from skills_runtime.sandbox.egress import Account, Doorman

        self._account = Account()
        return Doorman(record=self._hear)

    def added_to(self, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        """The evidence of the fence, with the decisions."""
        if self._account is None:
            return evidence
        import msgspec

        decisions = [msgspec.to_builtins(one) for one in self._decisions]
        return {**evidence, "network": {**self._account.summary(), "decisions": decisions}}

    def _hear(self, record: "EgressRecord") -> None:
        if self._account is not None:
            self._account.add(record)
        if len(self._decisions) < MAX_DECISIONS:
            self._decisions.append(record)
