"""The service as its predecessor was started and asked: the same commands, variables, files and requests."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.e2e.service.servers import LINK
from tests.support import ROOT

MANAGE = ROOT / "deploy" / "manage.py"
DEFINITION = """{
  "name": "get-available-resources",
  "description": "Detect CPU, memory, disk and platform info",
  "runtime": {"type": "python"},
  "timeout": 10000,
  "artifacts": ["artifacts/resources.json"]
}
"""
PROGRAM = """
import json, os, sys
from pathlib import Path

json.load(sys.stdin)
found = {"cpus": os.cpu_count()}
workspace = Path(__file__).parent / "artifacts"
workspace.mkdir(exist_ok=True)
(workspace / "resources.json").write_text(json.dumps(found))
print(json.dumps(found))
"""
REQUEST = b'{"skillName":"get-available-resources","input":{},"options":{"timeoutMs":10000}}'


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    skill = tmp_path / "skills" / "get-available-resources"
    skill.mkdir(parents=True)
    (skill / "skill.yaml").write_text(DEFINITION)
    (skill / "run.py").write_text(PROGRAM)
    return tmp_path


@pytest.fixture
def environment(workspace: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(workspace),
        "XDG_STATE_HOME": str(workspace / "state"),
        "SKILLS_DIR": "./skills",
        "ARTIFACTS_DIR": "./artifacts",
        "DEFAULT_TIMEOUT_MS": "10000",
        "DJANGO_ALLOWED_HOSTS": "localhost,127.0.0.1,0.0.0.0",
        "SQLITE_PATH": "./db.sqlite3",
        "DJANGO_DEBUG": "0",
        "DJANGO_SECRET_KEY": "replace-with-a-strong-secret",
    }


@pytest.fixture
def url(workspace: Path, environment: dict[str, str]) -> Iterator[str]:
    """The address of a service that the old commands started."""
    command = [sys.executable, MANAGE, "runserver", "--noreload", "127.0.0.1:0"]
    process = subprocess.Popen(
        command,
        cwd=workspace,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        yield next(matched[1].decode() for line in process.stdout if (matched := LINK.match(line)))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


def test_there_is_nothing_to_migrate(workspace: Path, environment: dict[str, str]) -> None:
    process = subprocess.run(
        [sys.executable, MANAGE, "migrate"], cwd=workspace, env=environment, capture_output=True, check=False
    )
    assert process.returncode == 0
    assert not (workspace / "db.sqlite3").exists()


def test_the_documented_requests_have_the_documented_answers(workspace: Path, url: str) -> None:
    with httpx2.Client(base_url=url, timeout=60, trust_env=False) as client:
        assert client.get("/api/health").json() == {"status": "ok"}
        described = "Detect CPU, memory, disk and platform info"
        listed = [{"name": "get-available-resources", "description": described, "runtime": "python"}]
        assert client.get("/api/skills").json() == {"skills": listed, "errors": []}
        headers = {"Content-Type": "application/json"}
        body = client.post("/api/skills/execute", content=REQUEST, headers=headers).json()
    assert (body["success"], body["output"], body["stderr"]) == (True, {"cpus": os.cpu_count()}, None)
    (artifact,) = body["artifacts"]
    assert artifact == f"artifacts/{body['executionId']}/artifacts/resources.json"
    assert (workspace / artifact).is_file(), "the answer names the file from where the service was started"
    assert not (workspace / "skills" / "get-available-resources" / "artifacts").exists()
