"""The files for those who deploy: nobody is root, what must last is on a volume, health is looked at."""

import configparser
import re
import runpy
from typing import Any

import pytest
import yaml

from tests.support import ROOT

DEPLOY = ROOT / "deploy"


def test_the_image_runs_unprivileged_and_keeps_its_data_on_volumes() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    assert re.search(r"^USER skills$", text, re.MULTILINE)
    assert 'VOLUME ["/artifacts", "/data"]' in text
    assert "HEALTHCHECK" in text
    assert "/api/health" in text


def test_the_compose_file_publishes_the_port_to_this_machine_only() -> None:
    service: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["service"]
    assert service["ports"] == ["127.0.0.1:8080:8080"]
    assert {"artifacts:/artifacts", "data:/data"} <= set(service["volumes"])
    assert (service["cap_drop"], service["read_only"]) == (["ALL"], True)


def test_the_unit_lets_work_end_before_it_ends_the_rest() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # pyright: ignore[reportAttributeAccessIssue]
    unit.read(DEPLOY / "skills-runtime.service")
    assert unit["Service"]["KillMode"] == "mixed"
    assert unit["Service"]["ExecStart"].split()[1] == "serve"


def test_the_unit_and_the_image_work_in_a_project_and_not_in_a_home() -> None:
    unit = (DEPLOY / "skills-runtime.service").read_text()
    assert re.findall(r"^WorkingDirectory=(.*)$", unit, re.MULTILINE) == ["%h/project"]
    assert re.findall(r"--workspace-root (\S+)", unit) == ["%h/project"]
    image = (DEPLOY / "Dockerfile").read_text()
    assert re.findall(r"--home-dir (\S+)", image) == ["/data"]
    assert re.findall(r"^WORKDIR (.*)$", image, re.MULTILINE)[-1] == "/data/workspace"


def test_the_image_installs_only_what_is_pinned() -> None:
    image = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    installs = re.findall(r"\bpip install ([^&\n]*)", image)
    assert len(installs) == 2
    assert all("--no-deps" in options for options in installs)
    assert "--require-hashes --requirement requirements/service.txt" in installs[0]
    assert "--no-build-isolation" in installs[1]
    assert re.findall(r"\bnpm (\w+)[^&\n]*", image) == ["ci", "run"]
    assert "npm ci --ignore-scripts" in image


@pytest.mark.parametrize(
    ("arguments", "code"), [(["migrate"], 0), (["migrate", "--noinput"], 0), (["shell"], 2), ([], 2)]
)
def test_old_scripts_find_their_commands(arguments: list[str], code: int) -> None:
    assert runpy.run_path(str(DEPLOY / "manage.py"))["main"](arguments) == code
