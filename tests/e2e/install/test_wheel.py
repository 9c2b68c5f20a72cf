"""The installed wheel: a clean environment without Node and without the checkout has everything, Studio too."""

import os
import re
import shlex
import shutil
import subprocess
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from http.cookies import SimpleCookie
from pathlib import Path

import httpx2
import pytest

from tests.e2e.cli.terminals import on_a_terminal
from tests.e2e.install.conftest import HATCHLING, run
from tests.e2e.service.servers import LINK
from tests.support import ROOT

DIST = Path("src", "skills_runtime", "studio_dist")
SYSTEM = "/usr/local/nowhere"
"""A path with no programs at all, so with no Node."""


@contextmanager
def studio(scripts: Path, home: Path) -> Generator[tuple[str, str]]:
    """The address and the token of `studio`, for as long as the block lasts."""
    home.mkdir()
    with (home / "stderr.txt").open("wb") as remarks:
        process = subprocess.Popen(
            [scripts / "skills-runtime", "studio", "--no-browser", "--listen", "127.0.0.1:0"],
            cwd=home, env={"PATH": SYSTEM, "HOME": str(home)}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=remarks,
        )  # fmt: skip
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if match := LINK.match(line.replace(b"/studio/?", b"/?")):
                yield match[1].decode(), match[2].decode()
                return
        raise AssertionError((home / "stderr.txt").read_text())
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


@pytest.fixture(scope="module")
def link(scripts: Path, tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[str, str]]:
    """Where `studio` listens, and its token."""
    with studio(scripts, tmp_path_factory.mktemp("served") / "home") as link:
        yield link


def visitor(url: str, **headers: str) -> httpx2.Client:
    return httpx2.Client(base_url=url, headers=headers, timeout=60, trust_env=False, verify=False)


@pytest.fixture(scope="module")
def page(link: tuple[str, str]) -> Generator[httpx2.Client]:
    """A client that opened the link printed by `studio`."""
    url, token = link
    with httpx2.Client(base_url=url, timeout=60, trust_env=False, follow_redirects=True) as client:
        client.get("/studio/", params={"token": token})
        yield client


def test_the_installed_package_is_that_of_the_wheel_and_there_is_no_node(scripts: Path) -> None:
    say = "import skills_runtime, shutil; print(skills_runtime.__file__, shutil.which('node'))"
    command = [scripts / "python", "-c", say]
    result = subprocess.run(command, env={"PATH": SYSTEM}, check=True, capture_output=True, text=True, timeout=60)
    where, node = result.stdout.split()
    assert Path(where).is_relative_to(scripts.parent)
    assert node == "None"


def test_the_page_and_everything_it_names_is_served(page: httpx2.Client) -> None:
    index = page.get("/studio/")
    assert index.status_code == 200
    assert index.headers["content-type"].startswith("text/html")
    named = re.findall(r'(?:src|href)="(?!data:)([^"]+)"', index.text)
    assert any(name.endswith(".js") for name in named)
    assert any(name.endswith(".css") for name in named)
    for name in named:
        response = page.get(httpx2.URL(str(index.url)).join(name))
        assert response.status_code == 200, name
        assert response.content or name.endswith("/"), name


def test_every_built_file_is_in_the_wheel_and_served(page: httpx2.Client, scripts: Path) -> None:
    (dist,) = scripts.parent.glob("lib/python*/site-packages/skills_runtime/studio_dist")
    files = [path for path in dist.rglob("*") if path.is_file()]
    assert len(files) > 5
    for path in files:
        response = page.get(f"/studio/{path.relative_to(dist)}")
        assert (response.status_code, response.content) == (200, path.read_bytes()), path
        assert response.headers["x-content-type-options"] == "nosniff"


def test_a_deep_address_gives_the_page_and_the_api_knows_its_visitor(page: httpx2.Client) -> None:
    assert page.get("/studio/operations/model").text == page.get("/studio/").text
    assert page.get("/api/v1/runs").status_code == 200


def test_the_front_leads_to_the_page_whose_files_are_kept_and_whose_policy_is_strict(link: tuple[str, str]) -> None:
    with visitor(link[0]) as client:
        front, page = client.get("/"), client.get("/studio/runs/anything")
        asset = client.get(f"/studio/assets/{min((ROOT / DIST / 'assets').iterdir()).name}")
    assert (front.status_code, front.headers["location"]) == (307, "/studio/")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert (asset.status_code, asset.headers["x-content-type-options"]) == (200, "nosniff")
    assert "immutable" in asset.headers["cache-control"]


def test_the_link_logs_in_and_the_cookie_reads_and_streams(link: tuple[str, str]) -> None:
    url, token = link
    with visitor(url) as client:
        assert client.get("/api/v1/runs").status_code == 401
        landed = client.get("/studio/", params={"token": token})
        assert (landed.status_code, landed.headers["location"]) == (303, "/studio/")
        name, morsel = next(iter(SimpleCookie(landed.headers["set-cookie"]).items()))
    cookie = {"Cookie": f"{name}={morsel.value}", "Sec-Fetch-Site": "same-origin"}
    with visitor(url, **cookie) as client:
        assert client.get("/api/v1/runs").json() == {"runs": [], "next_cursor": None}
        with client.stream("GET", "/api/v1/feed") as feed:
            assert feed.status_code == 200
            assert "event: hello" in next(text for text in feed.iter_text() if "hello" in text)
        assert client.post("/api/v1/runs", json={"prompt": "x"}).json()["kind"] == "header_missing"
    with visitor(url, **{**cookie, "Sec-Fetch-Site": "cross-site"}) as foreign:
        assert foreign.get("/api/v1/runs").status_code == 403


def test_a_run_with_a_fake_model_works_where_nothing_else_is_installed(scripts: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "script.yaml").write_text("calls:\n  - text: Hello from the wheel.\n")
    (tmp_path / "kgent.yaml").write_text("llm: {backend: fake, fake: {script: script.yaml}}\n")
    environment = {"PATH": SYSTEM, "HOME": str(tmp_path / "home")}
    answer = run([scripts / "skills-runtime", "run", "Say hello"], environment, tmp_path)
    assert (answer.returncode, answer.stdout) == (0, "Hello from the wheel.\n"), answer.stderr


def test_the_demo_names_commands_that_work_as_printed(scripts: Path, tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    (tmp_path / "home").mkdir()
    demo = run([scripts / "skills-runtime", "demo"], environment, tmp_path)
    assert demo.returncode == 0, demo.stderr
    commands = [line.strip() for line in demo.stderr.partition("try next\n")[2].splitlines()]
    assert commands
    for command in commands:
        program, *arguments = shlex.split(command)
        if arguments == ["init"]:
            with on_a_terminal(program, *arguments, cwd=tmp_path) as screen:
                screen.expect("Which provider?")
            continue
        answer = run(["bash", "-c", command], environment, tmp_path)
        assert answer.returncode == 0, (command, answer.stderr)


def test_a_source_distribution_brings_studio_to_machines_without_node(
    copy: Path, path_without_node: str, tmp_path: Path
) -> None:
    root = tmp_path / "sources"
    shutil.copytree(copy, root)
    environment = {"PATH": path_without_node, "HOME": str(tmp_path)}
    bare = build("wheel", root, environment)
    assert bare == []
    (root / DIST).mkdir()
    (root / DIST / "index.html").write_text("built")
    build("sdist", root, environment)
    (archive,) = root.glob("dist/*.tar.gz")
    shutil.unpack_archive(archive, tmp_path, filter="data")
    assert build("wheel", tmp_path / archive.name.removesuffix(".tar.gz"), environment) == [
        "skills_runtime/studio_dist/index.html"
    ]


def build(target: str, root: Path, environment: dict[str, str]) -> list[str]:
    """Build a distribution; return the files of Studio in it."""
    shutil.rmtree(root / "dist", ignore_errors=True)
    answer = run([*HATCHLING, "--target", target], environment, root)
    assert answer.returncode == 0, answer.stderr
    names = [name for path in root.glob("dist/*.whl") for name in zipfile.ZipFile(path).namelist()]
    return [name for name in names if "studio_dist" in name]
