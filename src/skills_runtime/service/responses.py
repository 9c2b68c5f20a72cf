"""Responses in JSON, and the shapes of requests and answers for the OpenAPI document."""

from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from skills_runtime.ports import InboxMessage

COMMON_STATUSES = (400, 401, 403, 429, 500)
"""What any request may be answered with: a wrong name or form, no token, no scope, too often, our own mistake."""
_DESCRIPTIONS = {
    400: "The request cannot be used.",
    401: "A valid token or key is needed.",
    403: "This caller, or this page, may not do that.",
    404: "There is no such thing.",
    405: "Not with this method.",
    408: "The request did not come in time.",
    409: "It conflicts with what is there.",
    413: "The request is too long.",
    415: "The body is not JSON.",
    416: "The file has no such part.",
    429: "Too many requests, or too much under way; `Retry-After` says when to come again.",
    500: "The skill failed, or the service did.",
    503: "The service cannot do this now.",
    504: "It took too long.",
}


class Health(BaseModel):
    """The service is there."""

    status: Literal["ok"]


class ListedSkill(BaseModel):
    """A skill that can be executed."""

    name: str
    description: str
    runtime: Literal["python", "node", "shell"]


class SkillList(BaseModel):
    """The skills that can be executed, and what is wrong with others."""

    skills: list[ListedSkill]
    errors: list[str]


class ExecuteOptions(BaseModel):
    """How a skill is executed."""

    timeoutMs: Annotated[int, Field(ge=1)] | None = None


class ExecuteRequest(BaseModel):
    """Which skill to execute, and with what."""

    skillName: Annotated[str, Field(min_length=1)]
    input: Any = None
    options: ExecuteOptions | None = None


class ExecuteSuccess(BaseModel):
    """What a skill answered."""

    success: Literal[True]
    executionId: str
    output: Any
    artifacts: list[str]
    stderr: str | None
    exitCode: int | None = None
    durationMs: int | None = None


class ExecuteFailure(BaseModel):
    """Why a skill did not answer."""

    model_config = ConfigDict(extra="allow")

    success: Literal[False]
    error: str
    code: str
    executionId: str | None = None
    stderr: str | None = None
    exitCode: int | None = None
    durationMs: int | None = None


class ProblemDocument(BaseModel):
    """What went wrong, after RFC 9457."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    kind: str
    hint: str


class ArtifactDocument(BaseModel):
    """A file that an execution left behind."""

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
    """Some executions, the latest first, and where to go on."""

    executions: list[ExecutionDocument]
    next_cursor: str | None


class NewExecution(BaseModel):
    """Which skill to execute, and with what."""

    model_config = ConfigDict(extra="forbid", strict=True)

    skill: Annotated[str, Field(min_length=1, max_length=256)]
    input: Any = None
    timeout_ms: Annotated[int, Field(ge=1)] | None = None


def failure_responses(*statuses: int, model: type[BaseModel] = ProblemDocument) -> dict[int | str, dict[str, Any]]:
    """How the refusals of a route are documented."""
    media_type = "application/problem+json" if model is ProblemDocument else "application/json"
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {
        status: {"description": _DESCRIPTIONS[status], "content": {media_type: {"schema": schema}}}
        for status in statuses
    }


def receipt_response(message: InboxMessage) -> Response:
    """A message that is kept until the run has read it."""
    body = {"message_id": message.id, "run_id": message.run_id, "kind": message.kind, "position": message.position}
    return json_response(body, 202)


def json_response(value: Any, status: int = 200) -> Response:
    """A value as it is, in JSON."""
    return Response(msgspec.json.encode(value), status_code=status, media_type="application/json")
