"""The network of a served session: there is no run to record it in, so it is summed up in what the session says."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skills_runtime.sandbox.egress import Account, Doorman


class ServedNetwork:
    """Counts what one session does, if it comes to have a network; nobody can be asked about a host."""

    def __init__(self) -> None:
        self._account: Account | None = None

    def doorman(self) -> "Doorman":
        """Who hears of every decision."""
        from skills_runtime.sandbox.egress import Account, Doorman

        self._account = account = Account()
        return Doorman(record=account.add)

    def added_to(self, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        """The evidence of the fence, with what happened so far."""
        return evidence if self._account is None else {**evidence, "network": self._account.summary()}
