"""The web app is served as files: one page for all its addresses, nothing outside of it, and a strict policy."""

from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette

from skills_runtime.service.pages import POLICY, StudioRoute
from tests.unit.service.open_app import open_app


@pytest.fixture
def built(tmp_path: Path) -> Path:
    root = tmp_path / "dist"
    (root / "assets").mkdir(parents=True)
    (root / "index.html").write_text("<!doctype html><title>Studio</title>")
    (root / "favicon.svg").write_text("<svg/>")
    (root / "assets" / "main-1a2b.js").write_text("1")
    (tmp_path / "secret.txt").write_text("hidden content")
    (root / "assets" / "link.js").symlink_to(tmp_path / "secret.txt")
    return root


def client(root: Path) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=Starlette(routes=[StudioRoute(root)]))
    return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000")


@pytest.mark.parametrize(
    "path", ["/studio/", "/studio/runs/run_1", "/studio/skills/%24%5Bweb%3Amvp%5D.writer", "/studio/index.html"]
)
async def test_every_address_of_the_app_gives_its_page_anew(built: Path, path: str) -> None:
    async with client(built) as browser:
        answer = await browser.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "Studio" in answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


async def test_assets_are_kept_for_ever(built: Path) -> None:
    async with client(built) as browser:
        answer = await browser.get("/studio/assets/main-1a2b.js")
        icon = await browser.get("/studio/favicon.svg")
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]
    assert icon.headers["content-type"] == "image/svg+xml"


@pytest.mark.parametrize(
    "path",
    [
        "/studio/assets/none.js",
        "/studio/assets/link.js",
        "/studio/assets/..%2f..%2fsecret.txt",
        "/studio/assets/%2e%2e/%2e%2e/secret.txt",
        "/studio/..%2fsecret.txt",
        "/studio/%2e%2e/secret.txt",
        "/studio//etc/passwd",
    ],
)
async def test_nothing_outside_of_the_app_is_shown(built: Path, path: str) -> None:
    async with client(built) as browser:
        answer = await browser.get(path)
    assert "hidden content" not in answer.text
    assert "root:" not in answer.text
    assert answer.status_code in (200, 400, 404)
    assert answer.status_code == 200 or answer.headers["content-type"] == "application/problem+json"


async def test_without_studio_its_address_names_the_command_that_tells_how_to_get_it(tmp_path: Path) -> None:
    async with client(tmp_path) as browser:
        answer = await browser.get("/studio/")
    assert answer.status_code == 503
    assert "<code>skills-runtime studio</code>" in answer.text


def test_the_policy_lets_no_inline_script_and_no_other_host_in() -> None:
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
    assert "default-src 'none'" in POLICY
    assert "frame-ancestors 'none'" in POLICY


async def test_the_data_below_studio_is_still_data(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app:
        health = await app.client.get("/studio/api/v1/health")
        sessions = await app.client.get("/studio/api/v1/sessions")
        nothing = await app.client.get("/studio/api/v1/nothing")
    assert health.json()["ok"] is True
    assert sessions.json() == {"sessions": []}
    assert (nothing.status_code, nothing.headers["content-type"]) == (404, "application/json")


async def test_the_printed_link_logs_a_browser_in_and_hides_the_token(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app, app.as_browser() as browser:
        response = await browser.get("/studio/", params={"token": app.state.token, "view": "runs"})
        assert (response.status_code, response.headers["location"]) == (303, "/studio/?view=runs")
        cookie = response.headers["set-cookie"].lower()
        assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/"))
        assert app.state.token not in response.headers["location"]


async def test_the_cookie_reads_and_changes_only_with_the_header_of_the_app(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app:
        async with app.as_browser() as browser:
            assert (await browser.get("/api/v1/runs")).status_code == 200
            refused = await browser.post("/api/v1/keys", json={"name": "ci", "scopes": ["read"]})
            assert (refused.status_code, refused.json()["kind"]) == (403, "header_missing")
        async with app.as_browser(**{"X-Skills-Runtime": "1"}) as page:
            assert (await page.post("/api/v1/keys", json={"name": "ci", "scopes": ["read"]})).status_code == 201
        async with app.as_browser(Origin="http://evil.example", **{"X-Skills-Runtime": "1"}) as foreign:
            assert (await foreign.get("/api/v1/runs")).status_code == 403
