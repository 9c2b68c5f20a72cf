"""config show: what holds, and where it comes from."""

import json
from pathlib import Path

import pytest
import yaml

from skills_runtime.cli.main import NAMES
from tests.e2e.cli.programs import invoke


@pytest.mark.parametrize("program", NAMES)
def test_settings_do_not_depend_on_the_name_of_the_program(workspace: Path, program: str) -> None:
    answer = invoke("config", "show", name=program)
    assert (answer.code, answer.err) == (0, "")
    assert yaml.safe_load(answer.out)["sandbox"]["workspace"] == "shared"


def test_the_settings_that_hold_are_those_of_the_files_and_options_given(workspace: Path) -> None:
    (workspace / "a.yaml").write_text("run: {max_steps: 3}\nmodels: {executor: one}\n")
    answer = invoke("config", "show", "--config", "a.yaml", "--set", "models.executor=two", "--json")
    settings = json.loads(answer.out)
    assert (settings["run"]["max_steps"], settings["models"]["executor"]) == (3, "two")


def test_the_origin_of_every_setting_is_shown(workspace: Path) -> None:
    (workspace / "a.yaml").write_text("run: {max_steps: 3}\n")
    answer = invoke("config", "show", "--origin", "--config", "a.yaml", "--set", "safety.denylist=[rm, dd]")
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in answer.out.splitlines()}
    assert lines["run.max_steps"] == f"3 yaml:overlay:{workspace / 'a.yaml'}"
    assert lines["safety.denylist"] == '["rm", "dd"] session_settings:safety.denylist'
    assert lines["sandbox.workspace"] == "shared yaml:embedded_default"
    assert lines["llm.backend"] == "openai yaml:embedded_default"


def test_the_origins_for_programs_name_key_value_source_and_note(workspace: Path) -> None:
    origins = json.loads(invoke("config", "show", "--origin", "--json").out)
    assert {
        "key": "run.max_steps",
        "value": "40",
        "source": "yaml:embedded_default#run.max_steps",
        "note": "",
    } in origins


def test_what_a_project_may_not_loosen_is_reported_on_stderr(workspace: Path) -> None:
    (workspace / "kgent.yaml").write_text("safety: {mode: allow}\n")
    answer = invoke("config", "show")
    assert yaml.safe_load(answer.out)["safety"]["mode"] == "ask"
    assert answer.err.startswith("notice: ")
    assert "safety.mode" in answer.err
