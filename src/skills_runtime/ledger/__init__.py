"""The ledger: an index of runs, sessions and tasks for listing and search, and the durable inbox.

One SQLite file in the user's state directory, never inside a workspace.
"""

from skills_runtime.ledger.inbox import SqliteInbox
from skills_runtime.ledger.index import PAGE_LIMIT, PREFIX_LENGTH, RunIndex, is_gone
from skills_runtime.ledger.ledger import Ledger, open_ledger
from skills_runtime.ledger.rebuild import Problem, RebuildReport, rebuild
from skills_runtime.ledger.rows import RunRow, SessionRow, TaskRow

__all__ = [
    "PAGE_LIMIT",
    "PREFIX_LENGTH",
    "Ledger",
    "Problem",
    "RebuildReport",
    "RunIndex",
    "RunRow",
    "SessionRow",
    "SqliteInbox",
    "TaskRow",
    "is_gone",
    "open_ledger",
    "rebuild",
]
