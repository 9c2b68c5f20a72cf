"""The `run` action of a skill inside a run: the executor runs it in the run's sandbox and directory."""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skills_runtime.errors import TOOL_KINDS, SkillsRuntimeError, ToolError, UsageError
from skills_runtime.events import SkillExecutionFinished, SkillExecutionStarted
from skills_runtime.executions import (
    Execution,
    ExecutionIds,
    ExecutionLimits,
    Executor,
    PoolLimits,
    ScriptPackages,
    Supplies,
    declared_variables,
)
from skills_runtime.ports import Grant, ProcessRequest, Sandbox, SandboxPlan, ToolContext, ToolResult
from skills_runtime.processes import Captured, Finished
from skills_runtime.skills import Skill
from skills_runtime.tools import (
    DEFAULT_TIMEOUT_MS,
    DIED_OF_SIGNAL,
    MAX_TIMEOUT_MS,
    CommandNetwork,
    RequestedCommand,
    explain_denials,
    process_facts,
)

if TYPE_CHECKING:
    from skills_runtime.processes import ScriptEnvironments
    from skills_runtime.skills import Library

ARTIFACTS = "artifacts"
MAX_SHOWN_BYTES = 16_384
"""Longest output that is also parsed into `data`."""
MAX_COPIED_BYTES = 64 << 20
"""Largest artifact that is copied into the working directory; larger ones stay with the execution."""
LIMITS = ExecutionLimits(timeout_ms=DEFAULT_TIMEOUT_MS, max_timeout_ms=MAX_TIMEOUT_MS)
KINDS = {"timeout": "timeout", "cancelled": "cancelled", "exit_code": "exit_code", "resource_limit": "sandbox_denied"}
_OUTPUT_ERRORS = ("invalid_output", "empty_output", "stdout_limit")


class RunExecutions:
    """Skill executions that are part of a run."""

    def __init__(self, path: Path, library: "Library", environments: "ScriptEnvironments | None" = None) -> None:
        self._directory = path
        self._library = library
        self._packages = ScriptPackages(environments)

    async def run(self, skill: Skill, value: Any, context: ToolContext) -> ToolResult:
        """Execute the skill; a repeated call returns its earlier result."""
        network = CommandNetwork(context)
        with tempfile.TemporaryDirectory(prefix="skills-runtime-", ignore_cleanup_errors=True) as stages:
            supplies = Supplies(
                variables=lambda executed: {
                    **declared_variables(self._library, executed),
                    **{"SKILLS_RUNTIME_SDK_WORKSPACE_ROOT": str(context.root)},
                },
                packages=self._packages,
                egress_callbacks=network.egress_callbacks,
                stages=Path(os.path.realpath(stages)),
            )
            executor = Executor(
                self._directory,
                lambda workspace: _StageSandbox(context.sandbox, workspace),
                limits=LIMITS,
                pool=PoolLimits(warm=0),
                supplies=supplies,
            )
            async with executor:
                key = context.idempotency_key
                ids = ExecutionIds(execution_id=_execution_id(key), run_id=context.run_id, call_id=context.call_id)
                started_event = SkillExecutionStarted(
                    call_id=context.call_id, execution_id=_execution_id(key), skill=skill.name
                )
                try:
                    if not (self._directory / started_event.execution_id).exists():  # otherwise this is a repeated call
                        context.emit(started_event)
                    execution = await executor.execute(skill, value, key=key, ids=ids)
                except UsageError as error:  # the execution did not start
                    kind = error.kind if error.kind in TOOL_KINDS else "validation"
                    raise ToolError(kind, error.message, hint=error.hint) from error
                context.emit(_finished_event(execution, context.call_id))
                artifact_paths = _copy_artifacts(execution, executor.directory(execution.id), context)
        result = _result(execution, artifact_paths, network.merge_evidence(execution.record.isolation))
        return _with_denials(result, execution, Path(stages), context.sandbox)


class _StageSandbox:
    """The sandbox of the run, plus write access to the stage directory of one execution."""

    def __init__(self, sandbox: Sandbox, stage: Path) -> None:
        self._sandbox = sandbox
        self._stage = stage

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        """Return the command inside the run's sandbox."""
        wider = msgspec.structs.replace(request, grant=Grant(writable=(str(self._stage),)))
        plan = self._sandbox.plan(wider)
        # Not a grant that a user approved: the stage is private to the execution, like a temporary directory.
        evidence = {name: value for name, value in plan.evidence.items() if name != "granted"}
        return msgspec.structs.replace(plan, evidence=evidence)


def _finished_event(execution: Execution, call_id: str) -> SkillExecutionFinished:
    record = execution.record
    return SkillExecutionFinished(
        call_id=call_id,
        execution_id=execution.id,
        skill=record.skill,
        status=record.status,
        exit_code=record.exit_code,
        duration_ms=record.duration_ms or 0,
        error=record.error.code if record.error is not None else "",
        skill_digest=record.skill_digest,
        input_digest=record.input_digest,
        stdout_bytes=record.stdout.total,
        stderr_bytes=record.stderr.total,
        artifacts=[msgspec.to_builtins(artifact) for artifact in record.artifacts],
    )


def _with_denials(result: ToolResult, execution: Execution, stages: Path, sandbox: Sandbox) -> ToolResult:
    """Add sandbox denials to the result of a failed skill; they cannot be granted for a single call."""
    if execution.error is None or execution.error.code != "exit_code":
        return result
    code = execution.exit_code
    by_signal = code is not None and code < 0
    finished = Finished(
        exit_code=None if by_signal else code,
        signal=-code if by_signal and code is not None else None,
        stdout=_capture(execution.stdout),
        stderr=_capture(execution.stderr),
        duration_ms=execution.duration_ms,
        ended_by="exit",
    )
    command = RequestedCommand(argv=(), cwd=stages)
    return explain_denials(result, finished, command, sandbox, grantable=False)


def _capture(text: str) -> Captured:
    data = text.encode()
    return Captured(data, b"", len(data), hashlib.sha256(data).hexdigest())


def _execution_id(key: str) -> str:
    """Return the execution id, which is the same for every repetition of a call."""
    return f"exec-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def _copy_artifacts(execution: Execution, directory: Path, context: ToolContext) -> list[str]:
    """Copy the artifacts to where the model can read them; return their paths relative to the working directory."""
    paths: list[str] = []
    for artifact in execution.artifacts:
        path = f"{ARTIFACTS}/{execution.id}/{artifact.path}"
        if artifact.size > MAX_COPIED_BYTES:
            continue
        try:
            context.files.write(str(context.root / path), (directory / artifact.path).read_bytes(), create_dirs=True)
        except SkillsRuntimeError:  # the refusal is recorded, and the execution keeps the file
            continue
        paths.append(path)
    return paths


def _result(execution: Execution, artifacts: list[str], evidence: Mapping[str, Any]) -> ToolResult:
    error, code = execution.error, execution.exit_code
    data = {**process_facts(evidence), "execution_id": execution.id, "artifacts": artifacts}
    stderr, kind = execution.stderr, None
    if error is not None:
        kind = "validation" if error.code in _OUTPUT_ERRORS else KINDS.get(error.code, "unknown")
        if error.code != "exit_code":
            stderr = f"{stderr.rstrip()}\n[{error.message}]".lstrip()
        if error.code in _OUTPUT_ERRORS:
            data["error"] = {"code": "SKILL_RUN_OUTPUT_INVALID", "message": error.message, "details": {}}
    elif len(execution.stdout) <= MAX_SHOWN_BYTES:
        data["output"] = execution.output
    return ToolResult(
        ok=error is None,
        stdout=execution.stdout,
        stderr=stderr,
        exit_code=DIED_OF_SIGNAL - code if code is not None and code < 0 else code,
        truncated=execution.record.stderr.total > execution.record.stderr.stored,
        error_kind=kind,
        data=data,
    )
