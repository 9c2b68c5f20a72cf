"""The web app is built when its sources are newer, and no wheel is made without it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
    for name in ("scripts", "studio/src", "bin", "src/skills_runtime"):
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


def hook(root: Path) -> Any:
    from scripts.hatch_build import StudioIsBuilt

    return StudioIsBuilt(str(root), {}, None, None, "", "wheel")  # pyright: ignore[reportArgumentType]


def test_a_wheel_without_the_page_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"index\.html"):
        hook(tmp_path).initialize("standard", {})
    hook(tmp_path).initialize("editable", {})
    (tmp_path / PAGE).parent.mkdir(parents=True)
    (tmp_path / PAGE).write_text("built")
    hook(tmp_path).initialize("standard", {})


def test_a_browser_is_opened_only_where_there_is_a_screen() -> None:
    assert has_screen({"DISPLAY": ":0"})
    assert has_screen({"WAYLAND_DISPLAY": "wayland-0"})
    assert has_screen({}) == (sys.platform in ("darwin", "win32"))


def test_the_link_of_a_page_has_the_token() -> None:
    server = RunningService(url="http://127.0.0.1:8000", token="t", pid=1, workspace_root="/", started_at="")
    assert server.link == "http://127.0.0.1:8000/?token=t"
    assert server.link_to("/studio/") == "http://127.0.0.1:8000/studio/?token=t"
