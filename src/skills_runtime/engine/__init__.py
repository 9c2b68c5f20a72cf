"""Who executes runs: the Dispatcher port and its local adapter."""

from skills_runtime.engine.dispatcher import Dispatcher
from skills_runtime.engine.local import LocalDispatcher
from skills_runtime.engine.run_control import RunControl
from skills_runtime.engine.run_index import read_row, refresh, row_of, workspace_roots

__all__ = ["Dispatcher", "LocalDispatcher", "RunControl", "read_row", "refresh", "row_of", "workspace_roots"]
