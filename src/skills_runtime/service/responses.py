"""JSON responses, and the request and response schemas for the OpenAPI document."""

from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from skills_runtime.ports import InboxMessage

COMMON_STATUSES = (400, 401, 403, 429, 500)
"""Errors that any request may get: bad request, no token, no permission, rate limit, internal error."""
_DESCRIPTIONS = {
    400: "The request is invalid.",
    401: "A valid token or key is required.",
    403: "This caller or page is not allowed to do that.",
    404: "Not found.",
    405: "The method is not allowed.",
    408: "The request was not received in time.",
    409: "The request conflicts with the current state.",
    413: "The request is too large.",
    415: "The body is not JSON.",
    416: "The file does not contain this range.",
    429: "Too many requests or too much work in progress; `Retry-After` says when to retry.",
    500: "The skill or the service failed.",
    503: "The service cannot do this at the moment.",
    504: "The operation timed out.",
}


class Health(BaseModel):
    """The service is available."""

    status: Literal["ok"]


class ListedSkill(BaseModel):
    """A skill that can be executed."""

    name: str
    description: str
    runtime: Literal["python", "node", "shell"]


class SkillList(BaseModel):
    """The executable skills, and the errors found in others."""

    skills: list[ListedSkill]
    errors: list[str]


class ExecuteOptions(BaseModel):
    """Options of an execution."""

    timeoutMs: Annotated[int, Field(ge=1)] | None = None


class ExecuteRequest(BaseModel):
    """The skill to execute and its input."""

    skillName: Annotated[str, Field(min_length=1)]
    input: Any = None
    options: ExecuteOptions | None = None


class ExecuteSuccess(BaseModel):
    """The result of a skill."""

    success: Literal[True]
    executionId: str
    output: Any
    artifacts: list[str]
    stderr: str | None
    exitCode: int | None = None
    durationMs: int | None = None


class ExecuteFailure(BaseModel):
    """Why a skill failed."""

    model_config = ConfigDict(extra="allow")

    success: Literal[False]
    error: str
    code: str
    executionId: str | None = None
    stderr: str | None = None
    exitCode: int | None = None
    durationMs: int | None = None


class ProblemDocument(BaseModel):
    """A problem document (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    kind: str
    hint: str


class ArtifactDocument(BaseModel):
    """A file that an execution produced."""

    path: str
    size: int
    sha256: str


class FailureDocument(BaseModel):
    """Why an execution did not complete."""

    code: str
    message: str


class ExecutionDocument(BaseModel):
    """One execution of a skill."""

    model_config = ConfigDict(extra="allow")

    execution_id: str
    skill: str
    status: Literal["running", "completed", "failed", "timed_out", "cancelled"]
    created_at: str
    finished_at: str | None
    duration_ms: int
    exit_code: int | None
    error: FailureDocument | None
    timeout_ms: int
    artifacts: list[ArtifactDocument]


class ExecutionPage(BaseModel):
    """A page of executions, newest first."""

    executions: list[ExecutionDocument]
    next_cursor: str | None


class NewExecution(BaseModel):
    """The skill to execute and its input."""

    model_config = ConfigDict(extra="forbid", strict=True)

    skill: Annotated[str, Field(min_length=1, max_length=256)]
    input: Any = None
    timeout_ms: Annotated[int, Field(ge=1)] | None = None


def failure_responses(*statuses: int, model: type[BaseModel] = ProblemDocument) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI documentation of a route's error responses."""
    media_type = "application/problem+json" if model is ProblemDocument else "application/json"
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {
        status: {"description": _DESCRIPTIONS[status], "content": {media_type: {"schema": schema}}}
        for status in statuses
    }


def receipt_response(message: InboxMessage) -> Response:
    """Return a receipt for a message that waits until the run has read it."""
    body = {"message_id": message.id, "run_id": message.run_id, "kind": message.kind, "position": message.position}
    return json_response(body, 202)


def json_response(value: Any, status: int = 200) -> Response:
    """Return a value as a JSON response."""
    return Response(msgspec.json.encode(value), status_code=status, media_type="application/json")
