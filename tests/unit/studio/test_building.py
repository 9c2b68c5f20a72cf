"""The web app is built when its sources are newer; a wheel takes it along where it is or can be built."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.hatch_build import StudioBuild
from skills_runtime.cli.serve import has_screen
from skills_runtime.service.access.token import RunningService
from tests.support import ROOT

PAGE = "src/skills_runtime/studio_dist/index.html"
NPM = """#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in *build*) mkdir -p "$STUDIO_OUT"; echo built > "$STUDIO_OUT/index.html" ;; esac
case "$*" in ci*) mkdir -p node_modules; touch node_modules/.package-lock.json ;; esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("scripts", "studio/src", "bin", "src/skills_runtime/messages"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "studio", tmp_path / "scripts")
    (tmp_path / "studio" / "package.json").write_text("{}")
    (tmp_path / "studio" / "package-lock.json").write_text("{}")
    (tmp_path / "studio" / "src" / "main.ts").write_text("1")
    (tmp_path / "bin" / "npm").write_text(NPM)
    (tmp_path / "bin" / "npm").chmod(0o755)
    return tmp_path


def build(checkout: Path, *options: str) -> list[str]:
    """What npm was asked to do."""
    calls = checkout / "calls"
    calls.write_text("")
    environment = {"PATH": f"{checkout / 'bin'}:{os.environ['PATH']}", "CALLS": str(calls)}
    command = ["bash", str(checkout / "scripts" / "studio"), *options]
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
    return calls.read_text().splitlines()


def age(path: Path, seconds: int) -> None:
    stat = path.stat()
    os.utime(path, (stat.st_atime, stat.st_mtime + seconds))


def test_the_app_is_built_once_and_again_when_a_source_is_newer(checkout: Path) -> None:
    assert len(build(checkout)) == 2
    age(checkout / PAGE, 10)
    assert build(checkout) == []
    age(checkout / "studio" / "src" / "main.ts", 20)
    (only,) = build(checkout)
    assert "build" in only
    assert len(build(checkout, "--force")) == 1


def test_the_lock_file_names_no_place_to_download_from() -> None:
    lock = json.loads((ROOT / "studio" / "package-lock.json").read_text())
    assert [name for name, entry in lock["packages"].items() if "resolved" in entry] == []


def test_what_was_built_stays_when_a_build_fails(checkout: Path) -> None:
    build(checkout)
    (checkout / "bin" / "npm").write_text('#!/bin/sh\nmkdir -p "$STUDIO_OUT"\nexit 1\n')
    with pytest.raises(subprocess.CalledProcessError):
        build(checkout, "--force")
    assert (checkout / PAGE).read_text() == "built\n"


def test_a_checkout_without_sources_is_content_with_what_was_built(checkout: Path) -> None:
    shutil.rmtree(checkout / "studio")
    with pytest.raises(subprocess.CalledProcessError):
        build(checkout)
    (checkout / PAGE).parent.mkdir()
    (checkout / PAGE).write_text("built")
    assert build(checkout) == []


@pytest.fixture
def hook(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The build hook of a wheel, on a machine with npm."""
    monkeypatch.setenv("CALLS", str(checkout / "calls"))
    monkeypatch.setenv("PATH", f"{checkout / 'bin'}:{os.environ['PATH']}")
    return StudioBuild(str(checkout), {}, None, None, "", "wheel")  # pyright: ignore[reportArgumentType]


def test_a_wheel_gets_an_app_built_from_the_current_sources(hook: Any, checkout: Path) -> None:
    hook.initialize("editable", {})
    assert not (checkout / PAGE).exists()
    hook.initialize("standard", {})
    assert (checkout / PAGE).read_text() == "built\n"


@pytest.mark.parametrize(
    ("npm", "reason"),
    [(None, "npm is missing; install Node 20 or newer"), ("#!/bin/sh\necho no space >&2; exit 1\n", "no space")],
)
def test_a_wheel_is_made_without_an_app_that_cannot_be_built(
    hook: Any, checkout: Path, npm: str | None, reason: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    if npm is None:
        monkeypatch.setenv("PATH", str(checkout / "src"))
    else:
        (checkout / "bin" / "npm").write_text(npm)
    hook.initialize("standard", {})
    printed = capsys.readouterr()
    assert "packing without Studio, the web app: " in printed.out + printed.err
    assert reason in printed.out + printed.err


def test_an_app_that_was_built_before_is_taken_where_its_sources_are_not(hook: Any, checkout: Path) -> None:
    shutil.rmtree(checkout / "studio")
    (checkout / PAGE).parent.mkdir()
    (checkout / PAGE).write_text("built before")
    hook.initialize("standard", {})
    assert (checkout / PAGE).read_text() == "built before"


def test_a_node_that_is_too_old_is_refused_by_its_version(checkout: Path) -> None:
    (checkout / "bin" / "node").write_text("#!/bin/sh\necho v18.20.4\n")
    (checkout / "bin" / "node").chmod(0o755)
    with pytest.raises(subprocess.CalledProcessError) as error:
        build(checkout)
    assert error.value.stderr == b"studio: Studio needs Node 20 or newer to be built; this is Node 18.20.4\n"


def test_a_browser_is_opened_only_where_there_is_a_screen() -> None:
    assert has_screen({"DISPLAY": ":0"})
    assert has_screen({"WAYLAND_DISPLAY": "wayland-0"})
    assert has_screen({}) == (sys.platform in ("darwin", "win32"))


def test_the_link_of_a_page_has_the_token() -> None:
    server = RunningService(url="http://127.0.0.1:8000", token="t", pid=1, workspace_root="/", started_at="")
    assert server.link == "http://127.0.0.1:8000/?token=t"
    assert server.link_to("/studio/") == "http://127.0.0.1:8000/studio/?token=t"
