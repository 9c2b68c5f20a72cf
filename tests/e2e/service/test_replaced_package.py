"""The package is replaced under a running service, as an upgrade does it: what it serves goes on."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import skills_runtime
from skills_runtime.sandbox.supervision import process_tree
from tests.e2e.service.servers import Service, serving, write_python, write_skill

COLD = {"name": "cold", "description": "Never waited for.", "runtime": {"type": "shell", "warm": False}}


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A copy of the package that may be removed."""
    path = tmp_path / "site" / "skills_runtime"
    source = Path(skills_runtime.__file__).parent
    shutil.copytree(source, path, ignore=shutil.ignore_patterns("__pycache__", "studio_dist"))
    return path


@pytest.fixture
def service(tmp_path: Path, installed: Path) -> Iterator[Service]:
    skills = tmp_path / "skills"
    write_python(skills, "python", "print(json.dumps(given))")
    write_skill(skills, "shell", "cat", runtime="shell", entry="run.sh")
    cold = write_skill(skills, "cold", "cat", runtime="shell", entry="run.sh")
    (cold / "skill.yaml").write_text(json.dumps(COLD))
    with serving(tmp_path / "home", skills, PYTHONPATH=str(installed.parent)) as running_service:
        yield running_service


def answers(service: Service) -> list[object]:
    documents = [service.execute(name, {"a": 1}).json() for name in ("python", "shell", "cold")]
    return [item.get("output", item) for item in documents]


def launcher_of(service: Service) -> int:
    """The only child of a service that has executed nothing."""
    pids = [process.pid for process in process_tree.list_processes().values() if process.parent == service.process.pid]
    assert len(pids) == 1
    return pids[0]


def test_executions_continue_when_the_package_is_gone(service: Service, installed: Path) -> None:
    shutil.rmtree(installed)
    assert answers(service) == [{"a": 1}] * 3


def test_executions_continue_when_the_launcher_is_killed_and_the_package_another(
    service: Service, installed: Path
) -> None:
    for path in (installed / "sandbox" / "supervision").glob("*.py"):
        path.write_text("raise ImportError('this is another version')")
    os.kill(launcher_of(service), signal.SIGKILL)
    assert answers(service) == [{"a": 1}] * 3
