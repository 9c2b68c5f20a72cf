"""Error responses: always JSON, in the format that clients of each path expect."""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Literal

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from skills_runtime.errors import SkillsRuntimeError

PROBLEM_TYPE = "application/problem+json"
STATUSES: Mapping[str, int] = {
    "validation": 400,
    "config_error": 400,
    "missing_env_var": 400,
    "not_found": 404,
    "permission": 403,
    "path_escape": 403,
    "write_refused": 403,
    "delete_disabled": 403,
    "approval_denied": 403,
    "run_exists": 409,
    "illegal_transition": 409,
    "approval_stale": 409,
    "conflict": 409,
    "busy": 429,
    "log_locked": 409,
    "log_ended": 409,
    "key_missing": 409,
    "sandbox_denied": 503,
    "human_required": 409,
    "timeout": 504,
    "cancelled": 409,
}
"""The HTTP status for each error kind that a client can act on; all others are 500."""

HTTP_ERRORS: Mapping[int, tuple[str, str]] = {
    400: ("validation", "the request is invalid"),
    404: ("not_found", "there is no such path"),
    405: ("method_not_allowed", "this method is not allowed here"),
}
"""Kind and message for errors raised by the framework."""

HTTP_KINDS = frozenset(
    {
        "bad_host", "bad_request", "foreign_origin", "header_missing", "method_not_allowed", "scope_missing",
        "skill_not_found", "too_large", "too_many_requests", "unauthorized", "unsupported_media_type",
    }
)  # fmt: skip
"""Error kinds that only the service uses, besides those of `errors.KINDS`."""

_STUDIO = re.compile(
    r"/api/v1/(health|sessions(/[^/]+(/skills(/sources)?|/runs)?)?|runs/[^/]+/(events/stream|approvals/[^/]+))"
    r"|/studio/api/v1/.*"
)


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An error response: status, stable kind, message and hint."""

    status: int
    kind: str
    message: str
    hint: str = ""
    details: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}


Shape = Literal["skill_service", "studio", "problem"]


def error_shape(path: str) -> Shape:
    """Return the error format of a path; paths of existing clients keep their format."""
    if path.startswith("/api/") and not path.startswith("/api/v1/"):
        return "skill_service"
    return "studio" if _STUDIO.fullmatch(path) else "problem"


def problem_response(path: str, problem: Problem) -> Response:
    """Return the response for a problem."""
    shape = error_shape(path)
    if shape == "skill_service":
        body: dict[str, Any] = {"success": False, "error": problem.message, "code": problem.kind}
    elif shape == "studio":
        detail = {"kind": problem.kind, "message": problem.message, "details": dict(problem.details)}
        body = {"detail": detail}
    else:
        body = _document(problem)
    media_type = PROBLEM_TYPE if shape == "problem" else "application/json"
    return Response(encode_json(body), status_code=problem.status, media_type=media_type, headers=dict(problem.headers))


def _document(problem: Problem) -> dict[str, Any]:
    """Return a problem document (RFC 9457) with our `kind` and `hint`."""
    return {
        "type": f"urn:skills-runtime:problem:{problem.kind}",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.message,
        "kind": problem.kind,
        "hint": problem.hint,
        **({"details": problem.details} if problem.details else {}),
    }


def encode_json(value: Any) -> bytes:
    """Encode JSON as ASCII with the spacing that clients of the skill service have always received."""
    return json.dumps(value, allow_nan=False, default=str).encode("ascii")


def build_problem(error: SkillsRuntimeError) -> Problem:
    """Return the HTTP problem for an error."""
    status = STATUSES.get(error.kind, 500)
    headers = {"Retry-After": "1"} if status in (429, 503) else {}
    return Problem(
        status=status, kind=error.kind, message=error.message, hint=error.hint, details=error.details, headers=headers
    )


def install_error_handlers(app: FastAPI) -> None:
    """Install handlers that turn every error of an app into JSON."""
    app.add_exception_handler(SkillsRuntimeError, _handle_runtime_error)
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(RequestValidationError, _handle_invalid_request)
    app.add_exception_handler(Exception, _handle_unexpected_error)


async def _handle_runtime_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, SkillsRuntimeError)
    return problem_response(request.url.path, build_problem(error))


async def _handle_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind, message = HTTP_ERRORS.get(error.status_code, ("http_error", str(error.detail)))
    if error.status_code in HTTP_ERRORS and not _is_default(error):
        message = str(error.detail)
    problem = Problem(status=error.status_code, kind=kind, message=message, headers=dict(error.headers or {}))
    return problem_response(request.url.path, problem)


def _is_default(error: HTTPException) -> bool:
    return error.detail == HTTPStatus(error.status_code).phrase


async def _handle_invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    location = ".".join(str(part) for part in first["loc"])
    message = f"the request is invalid: {location}: {first['msg']}"
    hint = "see `/api/openapi.json` for the expected format"
    return problem_response(request.url.path, Problem(status=400, kind="validation", message=message, hint=hint))


async def _handle_unexpected_error(request: Request, error: Exception) -> Response:
    del error  # the log has the details; do not expose internals to clients
    message = "internal error"
    return problem_response(
        request.url.path, Problem(status=500, kind="unknown", message=message, hint="see the log of the service")
    )
