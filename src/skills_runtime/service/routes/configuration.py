"""What holds in the workspace, over HTTP: settings, the model, the sandbox, the rules, and the room on the disk."""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field, ValidationError
from starlette.responses import Response

from skills_runtime.config import (
    KEY_VARIABLE,
    MODEL_FILE,
    LlmSettings,
    Resolved,
    build_model_settings,
    choose_model,
    config_home,
    delete_key,
    explain,
    parse_origin,
    store_key,
)
from skills_runtime.engine import Storage, describe_decision, find_model_problem, measure_storage
from skills_runtime.errors import ValidationFailed
from skills_runtime.sandbox import OsSandbox, build_sandbox
from skills_runtime.service.responses import COMMON_STATUSES, failure_responses, json_response
from skills_runtime.service.run_documents import Answer, Body
from skills_runtime.service.state import runs_of, state_of
from skills_runtime.skills.install import user_places

router = APIRouter(prefix="/api/v1", tags=["configuration"])


class ConfigDocument(Answer):
    """The settings, and where each comes from."""

    settings: dict[str, Any]
    origins: list[dict[str, str]]
    notices: list[str]


class DoctorDocument(Answer):
    """Which fences work here."""

    adapters: list[dict[str, Any]]
    gaps: list[dict[str, Any]]
    required_promises_kept: bool


class PlannedCommand(Body):
    """A call that nobody makes: a line of shell, a program and its arguments, or the arguments of a tool."""

    tool: Annotated[str, Field(min_length=1, max_length=200)] = "shell_command"
    line: Annotated[str, Field(min_length=1, max_length=100_000)] | None = None
    argv: Annotated[list[Annotated[str, Field(max_length=100_000)]], Field(min_length=1, max_length=1000)] | None = None
    arguments: dict[str, Any] | None = None


class JudgementDocument(Answer):
    """What the rules say, how the call was understood, what each policy mode would say, and a rule that allows it."""

    verdict: str
    explanation: dict[str, Any]
    facts: dict[str, Any]
    modes: list[dict[str, Any]]
    rules: list[dict[str, Any]]
    no_rule: str
    notices: list[str]


@router.get("/config", response_model=ConfigDocument, responses=failure_responses(*COMMON_STATUSES))
def show_config(request: Request) -> Response:
    """The settings that hold for new runs, and where each comes from; keys are named, never shown."""
    resolved = runs_of(request).workspace.settings()
    return json_response(
        {
            "settings": resolved.settings.model_dump(mode="json"),
            "origins": [asdict(origin) for origin in explain(resolved)],
            "notices": resolved.notices,
        }
    )


@router.get("/sandbox/doctor", response_model=DoctorDocument, responses=failure_responses(*COMMON_STATUSES, 503))
async def sandbox_doctor(request: Request) -> Response:
    """Which fences work on this machine for the settings of the workspace, and what is missing."""
    workspace = runs_of(request).workspace

    def check_sandbox() -> dict[str, Any]:
        resolved = workspace.settings()
        sandbox = build_sandbox(
            resolved.settings.sandbox, workspace=workspace.workspace_root, variables=resolved.environment.process
        )
        capabilities, gaps, promises_kept = sandbox.state() if isinstance(sandbox, OsSandbox) else ((), (), False)
        return {"adapters": capabilities, "gaps": gaps, "required_promises_kept": promises_kept}

    return json_response(await asyncio.to_thread(check_sandbox))


@router.post("/policy/check", response_model=JudgementDocument, responses=failure_responses(*COMMON_STATUSES, 413, 415))
async def check_policy(request: Request, body: PlannedCommand) -> Response:
    """Whether a run may make a call, and which rule says so; nothing is executed."""
    settings = await asyncio.to_thread(runs_of(request).workspace.settings)
    return json_response(await describe_decision(settings, body.tool, body.line, body.argv, body.arguments))


_MODEL_FIELDS = {
    "backend": "llm.backend",
    "base_url": "llm.base_url",
    "model": "models.executor",
    "api_key_env": "llm.api_key_env",
}


class ModelDocument(Answer):
    """The model that new runs use; of its key only whether there is one, and where it comes from."""

    backend: str
    base_url: str
    model: str
    planner: str
    executor: str
    api_key_env: str
    key_present: bool
    key_origin: str | None
    ready: bool
    problem: str
    origins: dict[str, str]
    file: str


class ChosenModel(Body):
    """What to change; what is not given stays, and a key goes into a private file and is never shown again.

    Another address or variable comes with its key: neither a variable of the service nor a key that was given for
    another address is sent there.
    """

    base_url: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    api_key_env: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    api_key: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    remove_key: bool = False


class ChangedModel(ModelDocument):
    """The same after a change, and what was chosen but does not hold, because something else counts more."""

    overridden: list[dict[str, str]]


@router.get("/model", response_model=ModelDocument, responses=failure_responses(*COMMON_STATUSES))
def show_model(request: Request) -> Response:
    """The model that new runs use; needs the scope `admin`."""
    return json_response(_model_document(runs_of(request).workspace.settings()))


@router.put("/model", response_model=ChangedModel, responses=failure_responses(*COMMON_STATUSES, 408, 413, 415))
def choose(request: Request, body: ChosenModel) -> Response:
    """Choose the model of this user for all workspaces; only the owner's token may."""
    workspace = runs_of(request).workspace
    current = workspace.settings()
    path = config_home(current.environment.process)
    name = body.api_key_env or (KEY_VARIABLE if body.api_key else None)
    _check_model(body, name)
    _check_key(body, name, current)
    # What settings refuse must never be in the file: nothing could be read any more, not even to put it right.
    workspace.settings(build_model_settings(base_url=body.base_url, model=body.model, api_key_env=name))
    if body.api_key is not None:
        store_key(path, name or KEY_VARIABLE, body.api_key, address=body.base_url or current.settings.llm.base_url)
    if body.remove_key:
        delete_key(path, body.api_key_env or current.settings.llm.api_key_env)
    choose_model(path, base_url=body.base_url, model=body.model, api_key_env=name)
    document = _model_document(workspace.settings())
    chosen = {"base_url": body.base_url, "model": body.model, "api_key_env": name}
    overridden = [
        {"field": field, "by": document["origins"][field]}
        for field, value in chosen.items()
        if value is not None and document[field] != value
    ]
    return json_response({**document, "overridden": overridden})


def _check_model(body: ChosenModel, name: str | None) -> None:
    """Refuse what no setting may be before anything is written."""
    if body.remove_key and body.api_key is not None:
        raise ValidationFailed("a key is stored or removed, not both")
    values = {"base_url": body.base_url, "api_key_env": name}
    try:
        LlmSettings.model_validate({field: value for field, value in values.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        location = ".".join(map(str, first["loc"]))
        raise ValidationFailed(f"`{location}` cannot be used: {first['msg']}") from None
    if body.model is not None and (not body.model.strip() or not body.model.isprintable()):
        raise ValidationFailed("this is not the name of a model")


def _check_key(body: ChosenModel, name: str | None, current: Resolved) -> None:
    """Refuse to send a key that was not given for it to an address that a client chose."""
    llm = current.settings.llm
    is_known = body.base_url is None or (
        "llm.base_url" not in current.by_project and parse_origin(body.base_url) == parse_origin(llm.base_url)
    )
    if body.api_key is None and not (is_known and name in (None, llm.api_key_env)):
        raise ValidationFailed("another address or variable comes with its key", hint="send `api_key` with it")
    # A variable counts more than a key that is stored under its name, and would be sent in its place.
    if body.api_key is not None and current.environment.origin(name or KEY_VARIABLE) in ("process", "dotenv"):
        hint = "leave out `api_key_env`, or choose another name"
        raise ValidationFailed(f"`{name}` is a variable of the service", hint=hint)


def _model_document(resolved: Resolved) -> dict[str, Any]:
    llm, models = resolved.settings.llm, resolved.settings.models
    problem = find_model_problem(resolved)
    return {
        "backend": llm.backend,
        "base_url": llm.base_url,
        "model": models.executor,
        "planner": models.planner,
        "executor": models.executor,
        "api_key_env": llm.api_key_env,
        "key_present": bool((resolved.environment.get(llm.api_key_env) or "").strip()),
        "key_origin": resolved.environment.origin(llm.api_key_env),
        "ready": not problem,
        "problem": problem,
        "origins": {field: resolved.sources[key] for field, key in _MODEL_FIELDS.items()},
        "file": str(config_home(resolved.environment.process) / MODEL_FILE),
    }


class StorageDocument(Answer):
    """What everything takes on the disk, and what is left; a part that is not complete takes more than it says."""

    parts: list[dict[str, Any]]
    disk: dict[str, int]
    largest_runs: list[dict[str, Any]]


@router.get("/storage", response_model=StorageDocument, responses=failure_responses(*COMMON_STATUSES))
async def show_storage(request: Request) -> Response:
    """Count what runs, executions and caches take, for a few seconds at most."""
    state = request.app.state
    counting: asyncio.Task[Storage] | None = getattr(state, "counting", None)
    if counting is None or counting.done():  # who asks meanwhile gets the same answer, and holds no thread
        settings = state_of(request).settings
        directories = (settings.workspace_root, settings.artifacts_dir, settings.state, user_places().store.parent)
        counting = state.counting = asyncio.create_task(asyncio.to_thread(measure_storage, *directories))
    return json_response(await asyncio.shield(counting))
