"""The model, over HTTP: which one is configured, where that comes from, and choosing another one."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field, ValidationError
from starlette.responses import Response

from skills_runtime.config import Resolved, config_home
from skills_runtime.config.files import CHOICE, KEY_VARIABLE, as_settings, choose_model, forget_key, store_key
from skills_runtime.config.models import LlmSettings
from skills_runtime.engine.agent_factory import model_problem
from skills_runtime.errors import ValidationFailed
from skills_runtime.service.responses import EVERYWHERE, as_json, failures
from skills_runtime.service.run_documents import Answer, Body
from skills_runtime.service.state import runs_of

router = APIRouter(prefix="/api/v1/model", tags=["configuration"])

_FIELDS = {
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
    """What to change; what is not given stays, and a key goes into a private file and is never shown again."""

    base_url: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    api_key_env: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    api_key: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    remove_key: bool = False


class ChangedModel(ModelDocument):
    """The same after a change, and what was chosen but does not hold, because something else counts more."""

    overridden: list[dict[str, str]]


@router.get("", response_model=ModelDocument, responses=failures(*EVERYWHERE))
def show_model(request: Request) -> Response:
    """The model that new runs use; needs the scope `admin`."""
    return as_json(_document(runs_of(request).workspace.settings()))


@router.put("", response_model=ChangedModel, responses=failures(*EVERYWHERE, 408, 413, 415))
def choose(request: Request, body: ChosenModel) -> Response:
    """Choose the model of this user for all workspaces; needs the scope `admin`."""
    home = runs_of(request).workspace
    before = home.settings()
    place = config_home(before.environment.process)
    name = body.api_key_env or (KEY_VARIABLE if body.api_key else None)
    _check(body, name)
    # What settings refuse must never be in the file: nothing could be read any more, not even to put it right.
    home.settings(as_settings(base_url=body.base_url, model=body.model, api_key_env=name))
    if body.api_key is not None:
        store_key(place, name or KEY_VARIABLE, body.api_key)
    if body.remove_key:
        forget_key(place, body.api_key_env or before.settings.llm.api_key_env)
    choose_model(place, base_url=body.base_url, model=body.model, api_key_env=name)
    shown = _document(home.settings())
    wanted = {"base_url": body.base_url, "model": body.model, "api_key_env": name}
    overridden = [
        {"field": field, "by": shown["origins"][field]}
        for field, value in wanted.items()
        if value is not None and shown[field] != value
    ]
    return as_json({**shown, "overridden": overridden})


def _check(body: ChosenModel, name: str | None) -> None:
    """Refuse what no setting may be before anything is written."""
    if body.remove_key and body.api_key is not None:
        raise ValidationFailed("a key is stored or removed, not both")
    given = {"base_url": body.base_url, "api_key_env": name}
    try:
        LlmSettings.model_validate({field: value for field, value in given.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValidationFailed(f"`{place}` cannot be used: {first['msg']}") from None
    if body.model is not None and (not body.model.strip() or not body.model.isprintable()):
        raise ValidationFailed("this is not the name of a model")


def _document(resolved: Resolved) -> dict[str, Any]:
    llm, models = resolved.settings.llm, resolved.settings.models
    problem = model_problem(resolved)
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
        "origins": {field: resolved.sources[key] for field, key in _FIELDS.items()},
        "file": str(config_home(resolved.environment.process) / CHOICE),
    }
