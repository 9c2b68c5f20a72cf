"""Deterministic execution of skills: no prompt and no model, JSON in and JSON out."""

from skills_runtime.executions.executor import Executor
from skills_runtime.executions.layout import stages_in_memory
from skills_runtime.executions.programs import Interpreter, Packages
from skills_runtime.executions.runner import Supplies
from skills_runtime.executions.store import Within
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
    "ExecutionLimits",
    "Executor",
    "Failure",
    "Interpreter",
    "Packages",
    "PoolLimits",
    "Record",
    "Refused",
    "Supplies",
    "Within",
    "stages_in_memory",
]
