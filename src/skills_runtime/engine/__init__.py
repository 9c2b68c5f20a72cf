"""Who executes runs: the Dispatcher port and its local adapter."""

from skills_runtime.engine.desk import Desk
from skills_runtime.engine.dispatcher import Dispatcher
from skills_runtime.engine.indexing import read_row, refresh, row_of, workspace_roots
from skills_runtime.engine.local import LocalDispatcher

__all__ = ["Desk", "Dispatcher", "LocalDispatcher", "read_row", "refresh", "row_of", "workspace_roots"]
