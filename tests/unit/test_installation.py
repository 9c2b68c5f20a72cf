"""The commands that add what an installation lacks name the source it was installed from."""

import json
import shlex
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from skills_runtime.installation import Installation, describe_installation, find_installation
from tests.support import ROOT

PYTHON = "/opt/my env/bin/python"


def installed(place: Path, direct_url: object = None, *, by: str = "pip", receipt: str = "") -> Installation:
    """What is known about a package whose metadata and environment say this."""
    info = place / "skills_runtime-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "INSTALLER").write_text(f"{by}\n")
    if direct_url is not None:
        (info / "direct_url.json").write_text(direct_url if isinstance(direct_url, str) else json.dumps(direct_url))
    if receipt:
        (place / receipt).touch()
    return describe_installation(PathDistribution(info), PYTHON, place)


GIT = {"url": "https://host/x.git", "vcs_info": {"vcs": "git", "commit_id": "1a2b", "requested_revision": "main"}}
FOLDER: dict[str, object] = {"url": "file:///a%20clone", "dir_info": {}}
WHEEL = {"url": "file:///a/skills_runtime-1.0-py3-none-any.whl", "archive_info": {"hash": "sha256=00"}}


@pytest.mark.parametrize(
    ("direct_url", "requirement"),
    [
        (GIT, "skills-runtime[redis] @ git+https://host/x.git@main"),
        (FOLDER, "skills-runtime[redis] @ file:///a%20clone"),
        (WHEEL, f"skills-runtime[redis] @ {WHEEL['url']}"),
        (None, "skills-runtime[redis]"),
        ("no json", "skills-runtime[redis]"),
        ("[1]", "skills-runtime[redis]"),
    ],
)
def test_an_extra_is_installed_from_the_same_source(tmp_path: Path, direct_url: object, requirement: str) -> None:
    command = installed(tmp_path, direct_url).extra_command("redis")
    assert shlex.split(command) == [PYTHON, "-m", "pip", "install", requirement]


@pytest.mark.parametrize(
    ("by", "receipt", "start"),
    [
        ("pip", "", [PYTHON, "-m", "pip", "install"]),
        ("uv", "", ["uv", "pip", "install", "--python", PYTHON]),
        ("uv", "uv-receipt.toml", ["uv", "tool", "install", "--force"]),
        ("pip", "pipx_metadata.json", ["pipx", "install", "--force"]),
    ],
)
def test_an_extra_is_installed_by_what_installed_the_package(
    tmp_path: Path, by: str, receipt: str, start: list[str]
) -> None:
    command = installed(tmp_path, GIT, by=by, receipt=receipt).extra_command("service")
    assert shlex.split(command) == [*start, "skills-runtime[service] @ git+https://host/x.git@main"]


def test_studio_comes_with_a_new_build_where_the_source_can_be_built(tmp_path: Path) -> None:
    pip, uv = installed(tmp_path / "1", GIT), installed(tmp_path / "2", GIT, receipt="uv-receipt.toml")
    assert pip.studio_hint() == (
        f"install Node 20 or newer, then run `'{PYTHON}' -m pip install --force-reinstall --no-cache-dir "
        "'skills-runtime[service] @ git+https://host/x.git@main'`"
    )
    assert "`uv tool install --reinstall 'skills-runtime[service] @ git+" in uv.studio_hint()


def test_studio_comes_with_another_wheel_where_a_wheel_was_installed(tmp_path: Path) -> None:
    hints = {installed(tmp_path / "1", WHEEL).studio_hint(), installed(tmp_path / "2").studio_hint()}
    assert hints == {"install a wheel that includes it: `make wheel` in a clone of the repository builds one"}


def test_studio_comes_with_make_install_where_that_made_the_environment(tmp_path: Path) -> None:
    made = installed(tmp_path / "skills-runtime" / "environments" / "x", FOLDER)
    assert made.studio_hint() == "install Node 20 or newer, then run `make -C '/a clone' install`"


def test_a_checkout_is_completed_in_place() -> None:
    checkout = find_installation()
    assert checkout.checkout == ROOT
    assert f"{ROOT}[redis]" in shlex.split(checkout.extra_command("redis"))
    assert checkout.studio_hint() == f"`{shlex.join(['make', '-C', str(ROOT), 'studio'])}` builds and starts it"
