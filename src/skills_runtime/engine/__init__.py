"""The application layer: `RunService` over runs, and the dispatcher that works on them."""

from skills_runtime.engine.agent_factory import Interaction
from skills_runtime.engine.approvals import ApprovalAnswer, OpenApproval
from skills_runtime.engine.dispatcher import Dispatcher, InlineDispatcher, OpenedRun, RunHost
from skills_runtime.engine.recorded_run import RecordedRun
from skills_runtime.engine.run_control import RunControl
from skills_runtime.engine.run_index import read_row, refresh, row_of, workspace_roots
from skills_runtime.engine.run_reader import RunFilter, RunReader
from skills_runtime.engine.run_requests import RunOverrides, RunRequest
from skills_runtime.engine.run_service import (
    CreatedRun,
    RunService,
    ServiceLimits,
    StillWorking,
    open_run_service,
)
from skills_runtime.engine.workspace import Workspace

__all__ = [
    "ApprovalAnswer",
    "CreatedRun",
    "Dispatcher",
    "InlineDispatcher",
    "Interaction",
    "OpenApproval",
    "OpenedRun",
    "RecordedRun",
    "RunControl",
    "RunFilter",
    "RunHost",
    "RunOverrides",
    "RunReader",
    "RunRequest",
    "RunService",
    "ServiceLimits",
    "StillWorking",
    "Workspace",
    "open_run_service",
    "read_row",
    "refresh",
    "row_of",
    "workspace_roots",
]
