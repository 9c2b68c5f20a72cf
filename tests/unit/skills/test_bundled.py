"""The skills that come with the runtime: valid to the letter, and each script runs for real."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent.skills.executions import RunExecutions
from skills_runtime.config.models import SandboxSettings
from skills_runtime.sandbox import build_sandbox
from skills_runtime.skills import FilesystemSource, Library, Origin
from skills_runtime.skills.bundled import BUNDLED_NAMESPACE, find_bundled_skills
from skills_runtime.skills.evals import load_suite
from skills_runtime.skills.standard.directories import inspect_directory
from skills_runtime.tools.builtin.skill_exec import SkillExec
from tests.support import ROOT
from tests.support.tools import Workshop, data_of

NAMES = ["article-writer", "get-available-resources", "list-installed-tools", "novel-writer", "text-statistics"]


def library() -> Library:
    return Library([FilesystemSource(Origin("bundled", BUNDLED_NAMESPACE, "bundled"), find_bundled_skills())])


async def output_of(name: str, tmp_path: Path, **value: Any) -> Any:
    workshop = Workshop(tmp_path)
    workshop.sandbox = build_sandbox(SandboxSettings(), workspace=workshop.root, variables={})
    tool = SkillExec(library(), enabled=True, runner=RunExecutions(tmp_path / "executions", library()))
    mention = f"$[{BUNDLED_NAMESPACE}].{name}"
    result = await workshop.answer(tool, skill_mention=mention, action_id="run", input=value)
    assert result.ok, result.stderr
    return {**data_of(result), "output": json.loads(result.stdout), "files": workshop.contents()}


@pytest.mark.parametrize("name", NAMES)
def test_every_bundled_skill_is_valid_to_the_letter(name: str) -> None:
    assert inspect_directory(find_bundled_skills() / name, mode="strict").diagnostics == ()


def test_every_bundled_skill_can_be_mentioned() -> None:
    assert [skill.mention.text for skill in library().list()] == [f"$[web:mvp].{name}" for name in NAMES]
    assert library().problems() == ()


@pytest.mark.parametrize("name", ["article-writer", "novel-writer"])
def test_the_writers_bring_evals_along(name: str) -> None:
    assert len(load_suite(find_bundled_skills() / name).cases) == 2


async def test_get_available_resources_tells_what_the_machine_has(tmp_path: Path) -> None:
    found = await output_of("get-available-resources", tmp_path)

    output = found["output"]
    assert output["cpu"]["usable"] >= 1
    assert output["memory"]["total_bytes"] >= output["memory"]["available_bytes"] > 0
    assert output["disk"]["free_bytes"] > 0
    assert output["platform"]["system"] == "Linux"
    assert [json.loads(found["files"][path]) for path in found["artifacts"]] == [output]


async def test_text_statistics_counts_words_of_both_kinds(tmp_path: Path) -> None:
    text = "# Title 标题\n\nTwo words. It's one-word!\n\n你好，世界。再见"

    output = (await output_of("text-statistics", tmp_path, text=text, top=1))["output"]

    assert (output["words"], output["han_characters"]) == (5, 8)
    assert (output["sentences"], output["paragraphs"], output["headings"]) == (5, 3, 1)
    assert len(output["top_words"]) == 1


async def test_list_installed_tools_tells_which_programs_are_there(tmp_path: Path) -> None:
    tools = ["sh", "no-such-program", "$(touch x)", "cat"]

    found = await output_of("list-installed-tools", tmp_path, tools=tools)

    assert found["output"]["available"].keys() == {"sh", "cat"}
    assert found["output"]["missing"] == ["no-such-program"]
    assert found["files"] == {}


@pytest.mark.slow
def test_an_installed_package_has_them(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)

    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        files = set(wheel.namelist())

    assert {f"skills_runtime/bundled_skills/{name}/SKILL.md" for name in NAMES} <= files
    assert "skills_runtime/bundled_skills/get-available-resources/run.py" in files
