"""What is listed can be executed, and what can be executed is listed."""

import shutil
from pathlib import Path

import pytest

from skills_runtime.config import resolve, state_home
from skills_runtime.engine import ExecutionOptions, Executions, Workspace
from skills_runtime.skills import SkillError, TrustStore
from skills_runtime.skills.create import create_skill

BUNDLED = ["get-available-resources", "list-installed-tools", "text-statistics"]


def executions_in(directory: Path) -> Executions:
    return Executions(
        Workspace(workspace_root=directory, state=state_home()), ExecutionOptions(resolved=resolve(directory))
    )


def names(executions: Executions) -> list[str]:
    return [skill.run.name for skill in executions.list_skills().skills if skill.run is not None]


def create(directory: Path, name: str, *, trusted: bool = True, below: str = ".agents/skills") -> Path:
    skill = create_skill(name, directory / below, f"Is in {below}.", runtime="python").parent
    if trusted:
        TrustStore(state_home()).trust_skill(skill)
    return skill


async def test_every_listed_skill_is_found_by_its_listed_name_and_executed(tmp_path: Path) -> None:
    create(tmp_path, "counter")
    async with executions_in(tmp_path) as executions:
        assert names(executions) == ["counter", *BUNDLED]
        for name in names(executions):
            execution = await executions.start(executions.find(name), {"text": "one two"})
            assert execution.status == "completed", execution.stderr


def test_changes_count_at_once(tmp_path: Path) -> None:
    executions = executions_in(tmp_path)
    assert names(executions) == BUNDLED
    skill = create(tmp_path, "counter")
    assert names(executions) == ["counter", *BUNDLED]
    shutil.rmtree(skill)
    assert names(executions) == BUNDLED


def test_an_untrusted_skill_is_an_error_that_names_the_command(tmp_path: Path) -> None:
    create(tmp_path, "cloned", trusted=False)
    executions = executions_in(tmp_path)
    assert executions.list_skills().errors == ("cloned: not trusted; review it, then run `skills trust cloned`",)
    with pytest.raises(SkillError, match="not trusted"):
        executions.find("cloned")


def test_a_skill_without_its_program_is_an_error(tmp_path: Path) -> None:
    (create(tmp_path, "counter") / "run.py").unlink()
    listing = executions_in(tmp_path).list_skills()
    assert "counter" not in [skill.name for skill in listing.skills]
    assert any(error.startswith("counter: ") for error in listing.errors)


async def test_two_skills_of_one_name_at_one_level_are_listed_by_the_mentions_that_find_them(tmp_path: Path) -> None:
    create(tmp_path, "counter")
    create(tmp_path, "counter", below=".skills_runtime_sdk/skills")
    executions = executions_in(tmp_path)
    twins = [name for name in names(executions) if name not in BUNDLED]
    assert twins == ["$[project].counter", "$[project:own].counter"]
    assert [executions.find(name).mention.text for name in twins] == twins
    with pytest.raises(SkillError) as caught:
        executions.find("counter")
    assert all(f"`{mention}`" in caught.value.hint for mention in twins)


def test_a_page_knows_the_name_under_which_its_skill_is_executed(tmp_path: Path) -> None:
    create(tmp_path, "counter")
    executions = executions_in(tmp_path)
    assert executions.name_of(executions.find("counter")) == "counter"
    assert executions.name_of(executions.find("article-writer")) is None
