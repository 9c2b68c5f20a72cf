"""The skill service API of existing clients, with its paths, fields, messages and statuses."""

import asyncio
import json
from typing import Any, cast

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from skills_runtime.errors import Busy, NotFound, SkillsRuntimeError
from skills_runtime.executions import Execution
from skills_runtime.service.problems import Problem, build_problem, encode_json, problem_response
from skills_runtime.service.responses import (
    ExecuteFailure,
    ExecuteSuccess,
    Health,
    SkillList,
    failure_responses,
)
from skills_runtime.service.routes.executions import ClientGone, execute_for
from skills_runtime.service.state import runs_of, state_of
from skills_runtime.skills import SkillError

router = APIRouter(prefix="/api", tags=["skill service"])

_BODY = {
    "required": True,
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ExecuteRequest"}}},
}


class ExecutionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed request for an execution."""

    skill: str
    input: Any
    timeout_ms: int | None


@router.get("/health", response_model=Health, responses=failure_responses(400, 403, 500, model=ExecuteFailure))
async def health() -> Response:
    """Return that the service is available."""
    return _json({"status": "ok"})


@router.get(
    "/skills", response_model=SkillList, responses=failure_responses(400, 401, 403, 429, 500, model=ExecuteFailure)
)
async def skills(request: Request) -> Response:
    """List the executable skills, and the errors found in others."""
    listing = await asyncio.to_thread(runs_of(request).executions.list_skills)
    runs = [skill.run for skill in listing.skills if skill.run is not None]
    documents = [{"name": run.name, "description": run.description, "runtime": run.runtime} for run in runs]
    return _json({"skills": documents, "errors": list(listing.errors)})


@router.post(
    "/skills/execute",
    response_model=ExecuteSuccess,
    responses=failure_responses(400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 503, model=ExecuteFailure),
    openapi_extra={"requestBody": _BODY},
)
async def execute(request: Request) -> Response:
    """Execute a skill and return its output."""
    execution_request = _parse_body(request, await request.body(), state_of(request).settings.max_timeout_ms)
    if isinstance(execution_request, Problem):
        return problem_response(request.url.path, execution_request)
    try:
        skill = await asyncio.to_thread(runs_of(request).executions.find, execution_request.skill)
    except (NotFound, SkillError) as error:
        problem = Problem(status=404, kind="skill_not_found", message="Skill not found")
        if error.kind != "not_found":  # this format has no field for the hint
            problem = msgspec.structs.replace(build_problem(error), message=f"{error.message}; {error.hint}")
        return problem_response(request.url.path, problem)
    try:
        execution = await execute_for(
            request,
            skill,
            execution_request.input,
            timeout_ms=execution_request.timeout_ms,
            key=request.headers.get("idempotency-key"),
        )
    except ClientGone:
        return Response(status_code=499)  # the client is gone
    except SkillsRuntimeError as error:
        return problem_response(request.url.path, _as_failure(error))
    return _json(_success(execution)) if execution.status == "completed" else _json(_failure(execution), status=500)


def _success(execution: Execution) -> dict[str, Any]:
    return {
        "success": True,
        "executionId": execution.id,
        "output": execution.output,
        "artifacts": [f"artifacts/{execution.id}/{artifact.path}" for artifact in execution.artifacts],
        "stderr": execution.stderr or None,
        "exitCode": execution.exit_code,
        "durationMs": execution.duration_ms,
    }


def _failure(execution: Execution) -> dict[str, Any]:
    error = execution.error
    return {
        "success": False,
        "executionId": execution.id,
        "error": error.message if error else "the execution failed",
        "stderr": execution.stderr,
        "code": error.code if error else "unknown",
        "exitCode": execution.exit_code,
        "durationMs": execution.duration_ms,
    }


def _as_failure(error: SkillsRuntimeError) -> Problem:
    """Return the problem for a failed execution; existing clients expect 500 unless the request itself was wrong."""
    problem = build_problem(error)
    of_skill = isinstance(error, SkillError) or error.details.get("about") == "skill"
    keeps_status = (problem.status in (400, 409) and not of_skill) or isinstance(error, Busy)
    return problem if keeps_status else msgspec.structs.replace(problem, status=500, headers={})


def _parse_body(request: Request, body: bytes, longest: int) -> ExecutionRequest | Problem:
    if "content-length" not in request.headers:
        # Existing clients must send `Content-Length`.
        return _bad_request("length_required" if body else "invalid_json", "Invalid JSON body")
    try:
        parsed = json.loads(body.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError):
        return _bad_request("invalid_json", "Invalid JSON body")
    if not isinstance(parsed, dict) or not parsed:
        return _bad_request("invalid_json", "Invalid JSON body")
    return _parse_request(cast("dict[str, Any]", parsed), longest)


def _parse_request(parsed: dict[str, Any], longest: int) -> ExecutionRequest | Problem:
    name = parsed.get("skillName")
    if not isinstance(name, str) or not name:
        return _bad_request("skill_name_required", "skillName is required")
    options: Any = parsed.get("options") or {}
    if not isinstance(options, dict):
        return _bad_request("invalid_options", "options must be an object")
    timeout: Any = cast("dict[str, Any]", options).get("timeoutMs") or None
    if isinstance(timeout, float) and timeout.is_integer():
        timeout = int(timeout)
    if timeout is not None and (type(timeout) is not int or not 1 <= timeout <= longest):
        return _bad_request("invalid_timeout", f"timeoutMs must be a whole number from 1 to {longest}")
    return ExecutionRequest(skill=name, input=parsed.get("input") or {}, timeout_ms=timeout)


def _bad_request(kind: str, message: str) -> Problem:
    return Problem(status=400, kind=kind, message=message)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a value of JSON")


def _json(value: dict[str, Any], status: int = 200) -> Response:
    return Response(encode_json(value), status_code=status, media_type="application/json")
