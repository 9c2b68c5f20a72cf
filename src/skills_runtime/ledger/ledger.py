"""The ledger file as one thing to open and to close."""

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from skills_runtime.ledger.database import Database
from skills_runtime.ledger.home import opening
from skills_runtime.ledger.inbox import SqliteInbox
from skills_runtime.ledger.index import RunIndex
from skills_runtime.ledger.migrations import migrate
from skills_runtime.ports import Clock, Ids


@dataclass(frozen=True, slots=True)
class Ledger:
    """The index of runs and their inbox, in one file."""

    index: RunIndex
    inbox: SqliteInbox

    def close(self) -> None:
        """Close both connections; harmless when repeated."""
        self.index.close()
        self.inbox.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def open_ledger(state_home: Path, *, clock: Clock, ids: Ids) -> Ledger:
    """Open the ledger of a state directory, creating both when they are missing."""
    with opening(state_home) as path:
        durable = Database(path, durability="full")
        try:
            migrate(durable, applied_at=clock.now())
            derived = Database(path, durability="normal")
        except BaseException:
            durable.close()
            raise
    return Ledger(index=RunIndex(derived), inbox=SqliteInbox(durable, derived, clock=clock, ids=ids))
