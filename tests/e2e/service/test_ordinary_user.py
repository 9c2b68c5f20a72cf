"""The service of an ordinary user, with a home of their own: it works, keeps everything private, and leaves nothing."""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from skills_runtime.sandbox.supervision import process_tree
from tests.e2e.service.servers import Service, serving, write_python
from tests.support import ROOT
from tests.support.users import NOBODY, Unprivileged
from tests.unit.processes.conftest import wait_for_end

AS_USER = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups") if os.geteuid() == 0 else ()
PYTHONPATH = os.pathsep.join([str(ROOT / "src"), *(path for path in sys.path if path.endswith("site-packages"))])
PROGRAM = "import sys; from skills_runtime.cli.main import main; sys.argv[0] = 'skills-runtime'; main()"
SHELL = {"argv": ["/bin/bash", "-c", "id -u > who.txt; setsid sleep 4725.5 & echo done"]}
SCRIPT = {"calls": [{"tool_calls": [{"name": "shell_exec", "arguments": SHELL}]}, {"text": "done"}]}


def reachable_python() -> str:
    """An interpreter that an ordinary user can start and that has our packages; ours may be in the home of root."""
    for candidate in (sys.executable, shutil.which("python3", path="/usr/local/bin:/usr/bin")):
        if candidate is not None and _has_packages(candidate):
            return candidate
    pytest.skip("no Python that an ordinary user can start has the packages")


def _has_packages(python: str) -> bool:
    try:
        tried = subprocess.run(
            [*AS_USER, python, "-c", "import skills_runtime.service.server"],
            env={"PYTHONPATH": PYTHONPATH, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd="/",
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return tried.returncode == 0


@pytest.fixture
def service(unprivileged: Unprivileged) -> Iterator[Service]:
    home = unprivileged.path.parent / "home"
    skills = unprivileged.path / "skills"
    code = "Path('artifacts/out.txt').write_text('x')\nprint(json.dumps(given))"
    write_python(skills, "leaves", code, artifacts=["artifacts/out.txt"])
    (home / "script.yaml").write_text(json.dumps(SCRIPT))
    options = ("llm.backend=fake", "llm.fake.script=script.yaml", "safety.mode=allow")
    settings = (word for option in options for word in ("--set", option))
    program = (*AS_USER, reachable_python(), "-c", PROGRAM)
    with serving(home, skills, *settings, program=program, PYTHONPATH=PYTHONPATH) as running_service:
        yield running_service


def exposed(*directories: Path) -> list[str]:
    """What others may look at, of everything in these directories."""
    modes: dict[Path, int] = {}
    for directory in directories:
        for path in (directory, *_walk(directory)):
            with suppress(FileNotFoundError):  # a temporary file of the service that is gone again
                modes[path] = path.lstat().st_mode
    assert len(modes) > len(directories)
    return [f"{path} {oct(mode)}" for path, mode in modes.items() if mode & 0o077 and not stat.S_ISLNK(mode)]


def _walk(directory: Path) -> Iterator[Path]:
    """Every path below a directory; unlike `rglob`, this passes over directories that vanish meanwhile."""
    for parent, directories, files in os.walk(directory):
        yield from (Path(parent, name) for name in (*directories, *files))


def test_everything_works_is_private_and_ends(service: Service) -> None:
    executed = service.execute("leaves", {"a": 1}).json()
    assert executed["success"], executed
    assert (executed["output"], len(executed["artifacts"])) == ({"a": 1}, 1)
    with service.client(token=True) as client:
        key = client.post("/api/v1/keys", json={"name": "mine", "scopes": ["read"]})
        assert key.status_code == 201, key.text
        run_id = client.post("/api/v1/runs", json={"prompt": "do it"}).json()["run_id"]
        log = client.get(f"/api/v1/runs/{run_id}/events/stream").text
    assert "event: run_completed" in log, log
    home = service.artifacts.parent
    assert (home / "who.txt").stat().st_uid == service.state.stat().st_uid == (NOBODY if AS_USER else os.geteuid())
    assert exposed(service.state, service.artifacts, home / ".skills_runtime_sdk") == []
    below = process_tree.find_descendants(process_tree.list_processes(), service.process.pid)
    assert below
    service.process.terminate()
    assert service.process.wait(60) == 0
    for process in below:
        wait_for_end(process.pid)
