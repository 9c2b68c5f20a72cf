"""Deterministic execution of skills: no prompt and no model, JSON in and JSON out."""

from skills_runtime.executions.executor import Executor
from skills_runtime.executions.jobs import Interpreter, Packages
from skills_runtime.executions.layout import stages_in_memory
from skills_runtime.executions.runner import Supplies
from skills_runtime.executions.store import ExecutionIds
from skills_runtime.executions.values import (
    Artifact,
    Execution,
    ExecutionLimits,
    Failure,
    PoolLimits,
    Record,
    Refused,
)

__all__ = [
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
    "Supplies",
    "stages_in_memory",
]
