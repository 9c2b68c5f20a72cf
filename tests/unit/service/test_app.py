"""The app without a server: errors in the shape of their path, and what surrounds every answer."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
import uvicorn
from uvicorn.server import ServerState

from skills_runtime.config import resolve
from skills_runtime.errors import ApprovalStale, NotFound
from skills_runtime.service import server as serving
from skills_runtime.service.app import create_app
from skills_runtime.service.bootstrap import open_service
from skills_runtime.service.problems import Problem, build_problem, error_shape, problem_response
from skills_runtime.service.settings import Listener, settings_from
from skills_runtime.service.state import ServiceState


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[ServiceState]:
    settings = settings_from(tmp_path, tmp_path / "state", {})
    async with open_service(settings, resolve(tmp_path)) as state:
        yield state


def client_of(parts: ServiceState, **more: Any) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=create_app(parts), client=("127.0.0.1", 5), raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {parts.token}", **more}
    return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", headers=headers)


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/api/health", "skill_service"),
        ("/api/skills/execute", "skill_service"),
        ("/api/v1/sessions", "studio"),
        ("/api/v1/sessions/s/runs", "studio"),
        ("/api/v1/runs/r/events/stream", "studio"),
        ("/api/v1/runs/r/approvals/k", "studio"),
        ("/studio/api/v1/sessions/s/skills", "studio"),
        ("/api/v1/runs", "problem"),
        ("/api/v1/executions/e", "problem"),
        ("/metrics", "problem"),
    ],
)
def test_an_error_has_the_shape_that_its_path_promises(path: str, shape: str) -> None:
    assert error_shape(path) == shape


def test_a_problem_says_what_it_is_and_what_to_do() -> None:
    response = problem_response("/api/v1/runs", build_problem(ApprovalStale("too late")))
    assert (response.status_code, response.media_type) == (409, "application/problem+json")
    assert b'"type": "urn:skills-runtime:problem:approval_stale"' in response.body
    assert b'"detail": "too late"' in response.body


def test_the_studio_keeps_its_shape() -> None:
    response = problem_response("/api/v1/sessions/s", build_problem(NotFound("no such session")))
    assert response.body == b'{"detail": {"kind": "not_found", "message": "no such session", "details": {}}}'


def test_text_that_is_no_unicode_can_be_reported() -> None:
    assert b"\\ud800" in problem_response("/api/x", Problem(status=400, kind="validation", message="\ud800")).body


async def test_an_unexpected_error_is_json_without_details(parts: ServiceState) -> None:
    app = create_app(parts)

    async def fail() -> None:
        raise RuntimeError("a secret")

    app.add_api_route("/api/v1/fails", fail)
    transport = httpx2.ASGITransport(app=app, client=("127.0.0.1", 5), raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {parts.token}"}
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", headers=headers) as client:
        response = await client.get("/api/v1/fails")
    assert (response.status_code, response.json()["kind"]) == (500, "unknown")
    assert b"secret" not in response.content


async def test_every_answer_is_kept_from_sniffers_frames_and_caches(parts: ServiceState) -> None:
    async with client_of(parts) as client:
        headers = (await client.get("/api/skills")).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"
    assert headers["x-request-id"].startswith("req_")


async def test_a_service_that_is_about_to_stop_is_not_ready(parts: ServiceState) -> None:
    async with client_of(parts) as client:
        assert (await client.get("/readyz")).status_code == 200
        parts.stopping.set()
        response = await client.get("/readyz")
        assert (response.status_code, response.json()["status"]) == (503, "not_ready")
        assert (await client.get("/livez")).status_code == 200


async def test_a_service_without_its_directory_of_skills_is_not_ready(tmp_path: Path) -> None:
    settings = settings_from(tmp_path, tmp_path / "state", {"SKILLS_DIR": str(tmp_path / "nowhere")})
    async with open_service(settings, resolve(tmp_path)) as parts, client_of(parts) as client:
        response = await client.get("/readyz")
    assert response.json()["checks"]["skills"] == "the skills directory does not exist"


def test_small_pieces_of_an_answer_are_sent_without_delay() -> None:
    with serving.bind_socket(Listener(port=0)) as bound:
        assert bound.proto == serving.socket.IPPROTO_TCP


class Line(asyncio.Transport):
    """A connection that only remembers whether it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = asyncio.Event()

    def write(self, data: Any) -> None:
        del data

    def is_closing(self) -> bool:
        return self.closed.is_set()

    def close(self) -> None:
        self.closed.set()


@pytest.mark.parametrize("sent", [b"", b"GET /api/health HTTP/1.1\r\nHost: x\r\n"])
async def test_a_request_that_never_ends_is_dropped(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.0)
    config = uvicorn.Config(cast(Any, None), http=serving.HttpProtocol, lifespan="off", log_config=None)
    config.load_app = lambda: cast(Any, None)
    config.load()
    line = Line()
    protocol = serving.HttpProtocol(config, ServerState(), {})
    protocol.connection_made(line)
    if sent:
        protocol.data_received(sent)
    await asyncio.wait_for(line.closed.wait(), 30)


def test_keys_need_no_server() -> None:
    used = "skills_runtime.cli.serve, skills_runtime.service.access.keys, skills_runtime.service.audit"
    code = f"import sys, {used}\nprint({{'fastapi', 'uvicorn', 'starlette'}} & set(sys.modules))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert process.stdout == "set()\n"
