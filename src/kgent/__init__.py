"""The run and sandbox model of kgent, as three functions over run directories."""

from kgent.context import (
    RunContext,
    create_run_context,
    load_run_context,
    resolve_sandbox_path,
    update_run_state,
)
from skills_runtime.runs import RunStatus

__all__ = [
    "RunContext",
    "RunStatus",
    "create_run_context",
    "load_run_context",
    "resolve_sandbox_path",
    "update_run_state",
]
