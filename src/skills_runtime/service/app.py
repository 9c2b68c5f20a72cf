"""The ASGI app: all routes, wrapped in access control, limits and the access log."""

from collections.abc import Iterable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from skills_runtime import __version__
from skills_runtime.clock import SystemClock
from skills_runtime.engine import MAX_ARCHIVE_BYTES
from skills_runtime.installation import studio_directory
from skills_runtime.service import routes
from skills_runtime.service.access.limits import MAX_UNAUTHENTICATED_BYTES, BodyLimit, ByteBudget, RateLimiter
from skills_runtime.service.access.middleware import AccessMiddleware
from skills_runtime.service.access.request_authorizer import RequestAuthorizer
from skills_runtime.service.access_log import AccessLogMiddleware
from skills_runtime.service.pages import HEADERS, STUDIO, StudioRoute, is_built, reference_page
from skills_runtime.service.problems import encode_json, install_error_handlers
from skills_runtime.service.responses import ExecuteFailure, ExecuteRequest, ProblemDocument
from skills_runtime.service.routes import files, health, skill_service
from skills_runtime.service.state import ServiceState

OPENAPI = "/api/openapi.json"
PAGE = "/api/docs"
TITLE = "Skills Runtime"
SUMMARY = "Skills in, an auditable run out."


def create_app(state: ServiceState) -> FastAPI:
    """Create the app of a service; the caller closes the state."""
    app = FastAPI(
        title=TITLE,
        summary=SUMMARY,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.service = state
    app.state.runs, app.state.streams = state.runs, state.streams
    install_error_handlers(app)
    # Starlette tries routes in order: put the most requested first.
    first = (skill_service.router, health.router)
    for router in (*first, *(router for router in _routers() if router not in first)):
        app.include_router(router)
    app.add_api_route(OPENAPI, _openapi, include_in_schema=False)
    app.add_api_route(PAGE, _page, include_in_schema=False)
    app.add_api_route("/", _front, include_in_schema=False)
    app.router.routes.append(StudioRoute(studio_directory()))
    _add_middleware(app, state)
    return app


def _add_middleware(app: FastAPI, state: ServiceState) -> None:
    """Wrap the routes in middleware; the one added last sees a request first."""
    limits, monotonic = state.settings.limits, SystemClock().monotonic
    authorizer = RequestAuthorizer(
        allowed_hosts=state.settings.allowed_hosts,
        token=state.token,
        find_key=state.keys.find,
        skill_service=state.settings.skill_service,
    )

    def all_routes() -> Sequence[BaseRoute]:
        return app.router.routes

    app.add_middleware(
        BodyLimit,
        max_bytes=limits.body_bytes,
        max_seconds=limits.body_seconds,
        unauthenticated=ByteBudget(max(limits.body_bytes, MAX_UNAUTHENTICATED_BYTES)),
        path_limits={files.IMPORT_PATH: MAX_ARCHIVE_BYTES},
    )
    app.add_middleware(
        AccessMiddleware,
        authorizer=authorizer,
        rate=RateLimiter(per_second=limits.requests_per_second, burst=limits.burst, monotonic=monotonic),
        failures=RateLimiter(
            per_second=limits.failures_per_minute / 60, burst=limits.failures_per_minute, monotonic=monotonic
        ),
        routes=all_routes,
        monotonic=monotonic,
    )
    app.add_middleware(AccessLogMiddleware, metrics=state.metrics, audit=state.audit)


def _routers() -> Iterable[APIRouter]:
    """Yield the routers of all route modules, in order of their names."""
    for module in iter_modules(routes.__path__):
        router = getattr(import_module(f"{routes.__name__}.{module.name}"), "router", None)
        if isinstance(router, APIRouter):
            for route in router.routes:
                # FastAPI reads the default status from the response class, which ours do not define.
                if isinstance(route, APIRoute) and route.status_code is None:
                    route.status_code = 200
            yield router


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of the service, built once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title,
            summary=SUMMARY,
            version=app.version,
            openapi_version="3.1.0",
            routes=app.routes,
        )
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for operation in (operation for path in document["paths"].values() for operation in path.values()):
            operation["responses"].pop("422", None)  # invalid requests are answered with 400 here
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        for model in (ProblemDocument, ExecuteFailure, ExecuteRequest):
            schemas.update(_schemas(model))
        document["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"bearer": []}]
        app.openapi_schema = document
    return app.openapi_schema


def _schemas(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs", {}), model.__name__: schema}


async def _page(request: Request) -> Response:
    return Response(reference_page(openapi_document(request.app)), media_type="text/html", headers=HEADERS)


async def _front() -> Response:
    return RedirectResponse(STUDIO if is_built(studio_directory()) else PAGE, status_code=307)


async def _openapi(request: Request) -> Response:
    return Response(encode_json(openapi_document(request.app)), media_type="application/json")
