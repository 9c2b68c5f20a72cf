"""A workspace that holds the code of the runtime itself: no command and no tool can change what it will run."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from skills_runtime.errors import WriteRefused
from skills_runtime.runs.files.paths import check_write, parse_path, shared_policy
from skills_runtime.sandbox import runtime_code

ROOT = Path(__file__).parents[3]
RUNTIME = """
import asyncio, json, os, sys
from pathlib import Path
from skills_runtime.config.models import SandboxSettings
from skills_runtime.ports import ProcessRequest
from skills_runtime.processes import Command, Limits, execute
from skills_runtime.sandbox import build_sandbox, runtime_code

workspace = Path(sys.argv[1])
fence = build_sandbox(SandboxSettings(), workspace=workspace, variables=dict(os.environ))
plan = fence.plan(ProcessRequest(argv=("/bin/bash", "-c", sys.argv[2]), cwd=workspace))
command = Command(plan.argv, plan.cwd, plan.environment, setup=plan.setup)
asyncio.run(execute(command, Limits(wall_seconds=60.0, grace_seconds=0.2)))
import lazy
print(json.dumps({"lazy": lazy.VALUE, "code": [str(path) for path in runtime_code(workspace)]}))
"""
CHANGES = {
    "write": "echo 'VALUE = \"changed\"' > {}/lazy.py",
    "remove and write": "rm -rf {0}/lazy.py {0}/__pycache__; echo 'VALUE = \"changed\"' > {0}/lazy.py",
    "a package that comes first": "mkdir {0}/lazy; echo 'VALUE = \"changed\"' > {0}/lazy/__init__.py",
    "a path file": "mkdir /tmp/x; echo 'import os' > {}/evil.pth",
    "move the whole": "mv .venv old; mkdir -p {0}; echo 'VALUE = \"changed\"' > {0}/lazy.py",
    "the interpreter": "rm -f .venv/bin/python; echo x > .venv/bin/python",
    "its configuration": "echo 'home = /tmp' > .venv/pyvenv.cfg",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A project with its `.venv`, from which the runtime is started, and a module that it has not imported yet."""
    made = tmp_path.resolve() / "project"
    made.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made / ".venv"], check=True)
    packages = next((made / ".venv").glob("lib/python*/site-packages"))
    others = [ROOT / "src", sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    (packages / "others.pth").write_text("".join(f"{path}\n" for path in others))
    (packages / "lazy.py").write_text('VALUE = "ours"\n')
    return made


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_no_command_changes_what_the_runtime_imports_later(change: str, workspace: Path) -> None:
    packages = next((workspace / ".venv").glob("lib/python*/site-packages"))
    before = {path: path.read_bytes() for path in (workspace / ".venv").rglob("*") if path.is_file()}
    line = CHANGES[change].format(packages)
    done = subprocess.run(
        [workspace / ".venv/bin/python", "-c", RUNTIME, workspace, line],
        capture_output=True,
        text=True,
        check=False,
        cwd=workspace,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["lazy"] == "ours"
    assert str(workspace / ".venv") in told["code"]
    after = {path: path.read_bytes() for path in (workspace / ".venv").rglob("*") if path.is_file()}
    assert {path: data for path, data in after.items() if path in before} == before
    assert {path for path in after.keys() - before.keys() if "__pycache__" not in path.parts} == set()


def test_no_command_leads_the_runtime_to_other_code_by_a_link(workspace: Path) -> None:
    (workspace / ".venv").rename(workspace / "environment")
    (workspace / ".venv").symlink_to("environment")
    packages = next((workspace / ".venv").glob("lib/python*/site-packages"))
    line = f"rm .venv; mkdir -p {packages}; echo 'VALUE = \"changed\"' > {packages}/lazy.py"
    done = subprocess.run(
        [workspace / ".venv/bin/python", "-c", RUNTIME, workspace, line],
        capture_output=True,
        text=True,
        check=False,
        cwd=workspace,
    )
    assert '"lazy": "changed"' not in done.stdout
    assert done.returncode == 0 or "SandboxError" in done.stderr, done.stderr


def test_no_tool_changes_it_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = tmp_path.resolve() / "project"
    for name in ("lib/package", ".skills_runtime_sdk/runs/r"):
        (workspace / name).mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(workspace / "lib"), *sys.path])
    code = runtime_code(workspace)
    assert code == (workspace / "lib",)
    policy = shared_policy(workspace, workspace / ".skills_runtime_sdk/runs/r", code)
    for name in ("lib/package/new.py", "lib/new.py", "lib"):
        with pytest.raises(WriteRefused, match="code that the runtime itself runs"):
            check_write(policy, parse_path(policy, name))
    check_write(policy, parse_path(policy, "library/new.py"))
