"""Packages for scripts: resolved once, locked, cached, made by a real uv from a directory of wheels."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent.skills.executions import RunExecutions
from skills_runtime.config.models import SandboxSettings
from skills_runtime.errors import ToolError
from skills_runtime.processes.script_environments import EnvironmentNeed, ScriptEnvironments, parse_need
from skills_runtime.sandbox import build_sandbox
from skills_runtime.skills.problems import SkillError
from skills_runtime.tools.builtin.skill_exec import SkillExec
from tests.support.checkouts import make_wheel
from tests.support.tools import Workshop, data_of
from tests.unit.skills.samples import library_at, make_skill, skill_text

SCRIPT = """\
# /// script
# requires-python = ">=3.11"
# dependencies = ["greeter>=1,<2"]
# ///
import json, greeter
print(json.dumps({"says": greeter.SAYS}))
"""


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """An environment in which uv finds packages in a directory, and nowhere else."""
    wheels = tmp_path / "wheels"
    make_wheel(wheels, "greeter", "1.0", "SAYS = 'hello from 1.0'\n", requires=["helper"])
    make_wheel(wheels, "greeter", "2.0", "SAYS = 'hello from 2.0'\n")
    make_wheel(wheels, "helper", "0.5", "")
    settings = tmp_path / "uv.toml"
    settings.write_text(f'no-index = true\noffline = true\nfind-links = ["{wheels}"]\n')
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}/usr/bin:/bin",
        "HOME": str(tmp_path),
        "UV_CACHE_DIR": str(tmp_path / "uv-cache"),
        "UV_CONFIG_FILE": str(settings),
    }


@pytest.fixture
def environments(tmp_path: Path, variables: dict[str, str]) -> ScriptEnvironments:
    return ScriptEnvironments(tmp_path / "environments", variables)


def needed(script: str = SCRIPT, lock: bytes = b"") -> EnvironmentNeed:
    need = parse_need(script.encode(), lock)
    assert need is not None
    return need


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "environments").iterdir())


async def test_an_environment_has_the_packages_with_their_own_needs(environments: ScriptEnvironments) -> None:
    await environments.provide(needed())

    locked = (environments.directory(needed()) / "requirements.txt").read_text()
    assert "greeter==1.0" in locked
    assert "helper==0.5" in locked
    assert locked.count("--hash=sha256:") == 2
    assert environments.python(needed()).exists()


async def test_what_is_there_is_used_without_uv_and_without_packages(
    environments: ScriptEnvironments, variables: dict[str, str], tmp_path: Path
) -> None:
    await environments.provide(needed())
    shutil.rmtree(tmp_path / "wheels")
    shutil.rmtree(tmp_path / "uv-cache")
    variables["PATH"] = ""

    await environments.provide(needed())

    assert environments.is_ready(needed())


async def test_an_environment_that_is_made_again_has_the_versions_of_the_first_time(
    environments: ScriptEnvironments, tmp_path: Path
) -> None:
    await environments.provide(needed())
    make_wheel(tmp_path / "wheels", "greeter", "1.5", "SAYS = 'newer'\n")
    shutil.rmtree(environments.directory(needed()))

    await environments.provide(needed())

    assert "greeter==1.0" in (environments.directory(needed()) / "requirements.txt").read_text()


async def test_a_lock_that_the_skill_brings_along_says_the_versions(
    environments: ScriptEnvironments, variables: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "run.py").write_text(SCRIPT)
    uv = [str(Path(sys.executable).parent / "uv"), "lock", "--quiet", "--script", "run.py", "--python", sys.executable]
    subprocess.run(uv, cwd=tmp_path, env=variables, check=True, timeout=60)
    make_wheel(tmp_path / "wheels", "greeter", "1.5", "SAYS = 'newer'\n")
    need = needed(lock=(tmp_path / "run.py.lock").read_bytes())

    await environments.provide(need)

    assert "greeter==1.0" in (environments.directory(need) / "requirements.txt").read_text()
    assert not environments.is_ready(needed())


async def test_two_concurrent_requests_build_one_environment(environments: ScriptEnvironments, tmp_path: Path) -> None:
    await asyncio.gather(*(environments.provide(needed()) for _ in range(3)))

    key = needed().key
    assert left(tmp_path) == [key, f"{key}.busy", f"{key}.requirements.txt"]


async def test_what_cannot_be_resolved_is_one_sentence_with_the_last_words_of_uv(
    environments: ScriptEnvironments, tmp_path: Path
) -> None:
    need = needed(SCRIPT.replace("greeter>=1,<2", "greeter>=7"))

    with pytest.raises(ToolError, match="could not be provided") as caught:
        await environments.provide(need)

    assert "greeter>=7" in caught.value.message
    assert not environments.is_ready(need)
    assert left(tmp_path) == [f"{need.key}.busy"]


async def test_a_package_that_would_have_to_be_built_is_refused(
    environments: ScriptEnvironments, tmp_path: Path
) -> None:
    import tarfile

    source = tmp_path / "source" / "onlysource-1.0"
    source.mkdir(parents=True)
    (source / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: onlysource\nVersion: 1.0\n")
    (source / "setup.py").write_text("open('/tmp/was-built', 'w')\n")
    with tarfile.open(tmp_path / "wheels" / "onlysource-1.0.tar.gz", "w:gz") as archive:
        archive.add(source, "onlysource-1.0")

    with pytest.raises(ToolError, match="could not be provided"):
        await environments.provide(needed(SCRIPT.replace("greeter>=1,<2", "onlysource")))


async def test_a_cancelled_making_leaves_nothing_half_made(environments: ScriptEnvironments, tmp_path: Path) -> None:
    making = asyncio.create_task(environments.provide(needed()))
    while not list((tmp_path).glob("environments/.*")):
        assert not making.done()
        await asyncio.sleep(0)
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making

    assert left(tmp_path) == [f"{needed().key}.busy"]


async def test_what_a_killed_process_left_is_cleared_away(environments: ScriptEnvironments, tmp_path: Path) -> None:
    leftover = tmp_path / "environments" / f".{needed().key}.dead" / "venv"
    leftover.mkdir(parents=True)

    await environments.provide(needed())

    assert not leftover.parent.exists()
    assert environments.python(needed()).exists()


def test_the_name_of_an_environment_depends_on_all_that_makes_it() -> None:
    others = [
        needed(SCRIPT.replace("<2", "<3")),
        needed(SCRIPT.replace(">=3.11", ">=3.10")),
        needed(lock=b"version = 1\n"),
    ]

    assert len({needed().key, *(one.key for one in others)}) == 4
    assert needed(f"{SCRIPT}# a comment\n").key == needed().key


def test_a_python_that_does_not_fit_is_refused() -> None:
    with pytest.raises(SkillError, match=r"needs Python >=9"):
        needed(SCRIPT.replace(">=3.11", ">=9"))


def test_a_missing_uv_is_reported_before_anything_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from skills_runtime.processes.script_environments import find_uv

    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setitem(sys.modules, "uv", None)

    with pytest.raises(ToolError, match="`uv`, which provides them, is not installed"):
        find_uv({"PATH": str(tmp_path)})


async def run_fenced(tmp_path: Path, tool: SkillExec, action: str) -> Any:
    workshop = Workshop(tmp_path)
    workshop.sandbox = build_sandbox(SandboxSettings(), workspace=workshop.root, variables={})
    arguments = {"skill_mention": "$[web:mvp].greet", "action_id": action}
    before = await tool.preview(arguments, workshop)
    assert not list(tmp_path.glob("environments")), "nothing is made before the gate has let the call pass"
    result = await workshop.answer(tool, **arguments)
    assert await tool.preview(arguments, workshop) == before, "whoever approved it is not asked again"
    return result


@pytest.mark.parametrize("action", ["run", "again", "itself"])
async def test_a_script_runs_behind_the_fence_with_its_packages(
    action: str, environments: ScriptEnvironments, tmp_path: Path
) -> None:
    actions = "actions:\n  again: {kind: shell, argv: [python3, actions/a.py]}\n"
    actions += "  itself: {kind: shell, argv: [actions/a.py]}\n"
    definition = {"name": "greet", "runtime": {"type": "python"}}
    files = {"skill.yaml": json.dumps(definition), "run.py": SCRIPT, "actions/a.py": SCRIPT}
    skill = make_skill(tmp_path.resolve() / "skills", "greet", text=skill_text("greet", extra=actions), files=files)
    library = library_at(skill.parent)
    runner = RunExecutions(tmp_path / "executions", library, environments)
    tool = SkillExec(library, enabled=True, environments=environments, runner=runner)

    result = await run_fenced(tmp_path, tool, action)

    assert result.ok, result.stderr
    assert json.loads(result.stdout) == {"says": "hello from 1.0"}
    assert data_of(result)["sandbox"]["active"]
    assert data_of(result)["environment"] == needed().key
