"""Studio from a wheel, in a process of its own: no Node, one link to open, and a stream with nothing but a cookie."""

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from http.cookies import SimpleCookie
from pathlib import Path

import httpx2
import pytest

from tests.e2e.service.servers import LINK
from tests.support import ROOT

MAIN = "import sys; from skills_runtime.cli.main import main; sys.exit(main())"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it is in a wheel."""
    place = tmp_path_factory.mktemp("wheel")
    built = ROOT / "src" / "skills_runtime" / "studio_dist" / "index.html"
    if not built.is_file():
        pytest.skip("Studio is not built here: `scripts/studio` builds it")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place / "dist")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    with zipfile.ZipFile(next((place / "dist").glob("*.whl"))) as wheel:
        wheel.extractall(place / "site")
    return place / "site"


@pytest.fixture(scope="module")
def link(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Where `studio` listens, and its token."""
    home = tmp_path_factory.mktemp("home")
    environment = {"PATH": "/nowhere", "HOME": str(home), "PYTHONPATH": str(installed)}
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, "studio", "--no-browser", "--listen", "127.0.0.1:0"],
        cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        for line in process.stdout:
            found = LINK.match(line.replace(b"/studio/?", b"/?"))
            if found:
                assert b"/studio/?token=" in line
                yield found[1].decode(), found[2].decode()
                break
        else:
            raise AssertionError(process.stderr.read().decode())
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()
        process.stderr.close()


def browser(url: str, **headers: str) -> httpx2.Client:
    return httpx2.Client(base_url=url, headers=headers, timeout=60, trust_env=False)


def test_the_wheel_serves_the_page_and_its_assets_without_node(installed: Path, link: tuple[str, str]) -> None:
    url, _ = link
    with browser(url) as client:
        front = client.get("/")
        assert (front.status_code, front.headers["location"]) == (307, "/studio/")
        page = client.get("/studio/runs/anything")
        assert page.content == (installed / "skills_runtime" / "studio_dist" / "index.html").read_bytes()
        assert "default-src 'none'" in page.headers["content-security-policy"]
        asset = min((installed / "skills_runtime" / "studio_dist" / "assets").iterdir())
        sent = client.get(f"/studio/assets/{asset.name}")
        assert (sent.status_code, sent.headers["x-content-type-options"]) == (200, "nosniff")
        assert "immutable" in sent.headers["cache-control"]


def test_the_link_logs_in_and_the_cookie_reads_and_streams(link: tuple[str, str]) -> None:
    url, token = link
    with browser(url) as client:
        assert client.get("/api/v1/runs").status_code == 401
        landed = client.get("/studio/", params={"token": token})
        assert (landed.status_code, landed.headers["location"]) == (303, "/studio/")
        name, morsel = next(iter(SimpleCookie(landed.headers["set-cookie"]).items()))
    cookie = {"Cookie": f"{name}={morsel.value}", "Sec-Fetch-Site": "same-origin"}
    with browser(url, **cookie) as page:
        assert page.get("/api/v1/runs").json() == {"runs": [], "next_cursor": None}
        with page.stream("GET", "/api/v1/feed") as feed:
            assert feed.status_code == 200
            assert "event: hello" in next(text for text in feed.iter_text() if "hello" in text)
        body = {"prompt": "x"}
        assert page.post("/api/v1/runs", json=body).json()["kind"] == "header_missing"
    with browser(url, **{**cookie, "Sec-Fetch-Site": "cross-site"}) as foreign:
        assert foreign.get("/api/v1/runs").status_code == 403
