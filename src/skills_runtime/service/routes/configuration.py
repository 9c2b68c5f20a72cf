"""Configuration over HTTP: settings, the model, the sandbox, the policy, and disk usage."""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from skills_runtime.config import (
    KEY_VARIABLE,
    MODEL_FILE,
    PROVIDERS,
    Resolved,
    build_model_settings,
    check_llm_values,
    choose_model,
    config_home,
    delete_key,
    explain,
    is_loopback,
    parse_origin,
    store_key,
)
from skills_runtime.engine import (
    Diagnosis,
    Storage,
    check_configured_model,
    describe_decision,
    diagnose,
    find_model_problem,
    measure_storage,
)
from skills_runtime.errors import ValidationFailed
from skills_runtime.sandbox import OsSandbox, build_sandbox
from skills_runtime.service.responses import COMMON_STATUSES, failure_responses, json_response
from skills_runtime.service.run_documents import Answer, Body
from skills_runtime.service.state import runs_of, state_of
from skills_runtime.skills.install import user_places

router = APIRouter(prefix="/api/v1", tags=["configuration"])


class ConfigDocument(Answer):
    """The settings, and the source of each."""

    settings: dict[str, Any]
    origins: list[dict[str, str]]
    notices: list[str]


class DoctorDocument(Answer):
    """The sandboxes that work on this machine."""

    adapters: list[dict[str, Any]]
    gaps: list[dict[str, Any]]
    required_promises_kept: bool


class DiagnosisDocument(Answer):
    """Whether a run would work, and the result of each check with its fix."""

    can_run: bool
    checks: list[dict[str, Any]]


class PlannedCommand(Body):
    """A call to check without running it: a shell line, a program with arguments, or the arguments of a tool."""

    tool: Annotated[str, Field(min_length=1, max_length=200)] = "shell_command"
    line: Annotated[str, Field(min_length=1, max_length=100_000)] | None = None
    argv: Annotated[list[Annotated[str, Field(max_length=100_000)]], Field(min_length=1, max_length=1000)] | None = None
    arguments: dict[str, Any] | None = None


class JudgementDocument(Answer):
    """The decision on a call, how it was parsed, the decision in each policy mode, and a rule that would allow it."""

    verdict: str
    explanation: dict[str, Any]
    facts: dict[str, Any]
    modes: list[dict[str, Any]]
    rules: list[dict[str, Any]]
    no_rule: str
    notices: list[str]


@router.get("/config", response_model=ConfigDocument, responses=failure_responses(*COMMON_STATUSES))
def show_config(request: Request) -> Response:
    """Return the settings for new runs and the source of each; keys are named but never shown."""
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
    """Report which sandboxes work on this machine with the workspace's settings, and what is missing."""
    workspace = runs_of(request).workspace

    def check_sandbox() -> dict[str, Any]:
        resolved = workspace.settings()
        sandbox = build_sandbox(
            resolved.settings.sandbox, workspace=workspace.workspace_root, variables=resolved.environment.process
        )
        capabilities, gaps, promises_kept = sandbox.state() if isinstance(sandbox, OsSandbox) else ((), (), False)
        return {"adapters": capabilities, "gaps": gaps, "required_promises_kept": promises_kept}

    return json_response(await asyncio.to_thread(check_sandbox))


@router.get("/doctor", response_model=DiagnosisDocument, responses=failure_responses(*COMMON_STATUSES))
async def show_diagnosis(request: Request) -> Response:
    """Check whether a run would work and how to fix what is missing; needs the scope `admin`.

    It contacts the model, and asks it for one word if its provider does not list it.
    """
    state, workspace = request.app.state, runs_of(request).workspace
    running: asyncio.Task[Diagnosis] | None = getattr(state, "diagnosing", None)
    if running is None or running.done():  # concurrent requests share one diagnosis
        work = asyncio.to_thread(diagnose, workspace.workspace_root, workspace.settings)
        running = state.diagnosing = asyncio.create_task(work)
    return json_response((await asyncio.shield(running)).document)


@router.post("/policy/check", response_model=JudgementDocument, responses=failure_responses(*COMMON_STATUSES, 413, 415))
async def check_policy(request: Request, body: PlannedCommand) -> Response:
    """Check whether a run may make a call, and which rule decides; nothing is executed."""
    settings = await asyncio.to_thread(runs_of(request).workspace.settings)
    return json_response(await describe_decision(settings, body.tool, body.line, body.argv, body.arguments))


_MODEL_FIELDS = {
    "backend": "llm.backend",
    "base_url": "llm.base_url",
    "model": "models.executor",
    "api_key_env": "llm.api_key_env",
}


class ModelDocument(Answer):
    """The model for new runs; of its key only whether it is set, and its source."""

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
    """Changes of the model settings; omitted fields stay.

    A key is stored in a private file and never shown again.
    A new URL or variable needs its own key: neither a variable of the service nor a key for another URL is sent there.
    """

    base_url: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    api_key_env: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    api_key: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    remove_key: bool = False


class ChangedModel(ModelDocument):
    """The model after a change, and the chosen values that a source with higher priority overrides."""

    overridden: list[dict[str, str]]


@router.get("/model", response_model=ModelDocument, responses=failure_responses(*COMMON_STATUSES))
def show_model(request: Request) -> Response:
    """Return the model for new runs; needs the scope `admin`."""
    return json_response(_model_document(runs_of(request).workspace.settings()))


@router.put("/model", response_model=ChangedModel, responses=failure_responses(*COMMON_STATUSES, 408, 413, 415))
def choose(request: Request, body: ChosenModel) -> Response:
    """Choose the model of this user for all workspaces; needs the owner's token."""
    workspace = runs_of(request).workspace
    current = workspace.settings()
    path = config_home(current.environment.process)
    name = body.api_key_env or (KEY_VARIABLE if body.api_key else None)
    _check_model(body, name)
    _check_key(body, name, current)
    # Validate before writing: with an invalid file no settings could be loaded, not even to correct it.
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
    """Refuse invalid values before anything is written."""
    if body.remove_key and body.api_key is not None:
        raise ValidationFailed("`api_key` and `remove_key` exclude each other")
    check_llm_values({"base_url": body.base_url, "api_key_env": name})
    if body.model is not None and (not body.model.strip() or not body.model.isprintable()):
        raise ValidationFailed("this is not a valid model name")


def _check_key(body: ChosenModel, name: str | None, current: Resolved) -> None:
    """Refuse to send a key to a URL that it was not given for."""
    llm = current.settings.llm
    is_known = body.base_url is None or (
        "llm.base_url" not in current.by_project and parse_origin(body.base_url) == parse_origin(llm.base_url)
    )
    # A server on this machine needs no key; none is sent if the named variable has none.
    is_keyless = (
        body.base_url is not None
        and name is not None
        and is_loopback(body.base_url)
        and not current.environment.get(name)
    )
    if body.api_key is None and not is_keyless and not (is_known and name in (None, llm.api_key_env)):
        raise ValidationFailed("a new URL or variable needs its own key", hint="send `api_key` with it")
    # An environment variable wins over a stored key of the same name, and would be sent instead.
    if body.api_key is not None and current.environment.origin(name or KEY_VARIABLE) in ("process", "dotenv"):
        hint = "leave out `api_key_env`, or choose another name"
        raise ValidationFailed(f"`{name}` is a variable of the service", hint=hint)


class ProviderDocument(Answer):
    """A preset: what to enter for a provider."""

    id: str
    title: str
    base_url: str
    url_example: str
    key_env: str
    needs_key: bool
    model: str
    key_page: str


class ProvidersDocument(Answer):
    """The presets, in the order of menus."""

    providers: list[ProviderDocument]


class ModelTestDocument(Answer):
    """The result of a call to the configured model, and the models that its service lists."""

    ok: bool
    problem: str
    seconds: float | None
    calls_tools: bool
    models: list[str]


@router.get("/model/providers", response_model=ProvidersDocument, responses=failure_responses(*COMMON_STATUSES))
def list_providers(request: Request) -> Response:
    """Return the presets of model providers."""
    return json_response({"providers": [asdict(provider) for provider in PROVIDERS.values()]})


@router.post("/model/test", response_model=ModelTestDocument, responses=failure_responses(*COMMON_STATUSES))
async def test_connection(request: Request) -> Response:
    """Call the configured model once, and list the models of its service; needs the scope `admin`."""
    resolved = await asyncio.to_thread(runs_of(request).workspace.settings)
    test = await check_configured_model(resolved)
    return json_response(
        {
            "ok": not test.problem,
            "problem": test.problem,
            "seconds": test.probe.seconds if test.probe else None,
            "calls_tools": bool(test.probe and test.probe.calls_tools),
            "models": test.models,
        }
    )


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
    """Disk usage of each part and free space; an incomplete part uses more than shown."""

    parts: list[dict[str, Any]]
    disk: dict[str, int]
    largest_runs: list[dict[str, Any]]


@router.get("/storage", response_model=StorageDocument, responses=failure_responses(*COMMON_STATUSES))
async def show_storage(request: Request) -> Response:
    """Measure the disk usage of runs, executions and caches; stops after a few seconds."""
    state = request.app.state
    counting: asyncio.Task[Storage] | None = getattr(state, "counting", None)
    if counting is None or counting.done():  # concurrent requests share one measurement and one thread
        settings = state_of(request).settings
        directories = (settings.workspace_root, settings.artifacts_dir, settings.state, user_places().store.parent)
        counting = state.counting = asyncio.create_task(asyncio.to_thread(measure_storage, *directories))
    return json_response(await asyncio.shield(counting))
