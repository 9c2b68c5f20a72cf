"""Deterministic execution of skills: no prompt and no model, JSON in and JSON out."""

from typing import TYPE_CHECKING

from skills_runtime.executions.executor import Executor
from skills_runtime.executions.jobs import Interpreter, Packages
from skills_runtime.executions.layout import stages_in_memory
from skills_runtime.executions.runner import Supplies
from skills_runtime.executions.store import ExecutionIds
from skills_runtime.executions.values import Artifact, Execution, ExecutionLimits, Failure, PoolLimits, Record, Refused
from skills_runtime.lazy import lazy_names

if TYPE_CHECKING:
    from skills_runtime.executions.from_settings import ScriptPackages, build_sandboxes, declared_variables
    from skills_runtime.executions.layout import STDERR, STDOUT, is_execution_id
    from skills_runtime.executions.retention import Retention
    from skills_runtime.executions.runner import wait_uncancelled
    from skills_runtime.executions.values import Status
    from skills_runtime.executions.zygotes import zygote_sources

__getattr__ = lazy_names(
    __name__,
    {
        "layout": "STDERR STDOUT is_execution_id",
        "retention": "Retention",
        "runner": "wait_uncancelled",
        "from_settings": "ScriptPackages build_sandboxes declared_variables",
        "values": "Status",
        "zygotes": "zygote_sources",
    },
)

__all__ = [
    "STDERR",
    "STDOUT",
    "Artifact",
    "Execution",
    "ExecutionIds",
    "ExecutionLimits",
    "Executor",
    "Failure",
    "Interpreter",
    "Packages",
    "PoolLimits",
    "Record",
    "Refused",
    "Retention",
    "ScriptPackages",
    "Status",
    "Supplies",
    "build_sandboxes",
    "declared_variables",
    "is_execution_id",
    "stages_in_memory",
    "wait_uncancelled",
    "zygote_sources",
]
