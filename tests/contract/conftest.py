"""Every inbox, for the tests of what each of them promises."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.ledger import SqliteInbox, open_ledger
from skills_runtime.testing.inbox import InMemoryInbox

AnyInbox = SqliteInbox | InMemoryInbox


@pytest.fixture(params=["sqlite", "memory"])
def inbox(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnyInbox]:
    """The durable one, and the one in memory."""
    if request.param == "memory":
        yield InMemoryInbox()
        return
    with open_ledger(tmp_path / "state", clock=SystemClock(), ids=RandomIds()) as ledger:
        yield ledger.inbox
