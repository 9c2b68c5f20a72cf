"""config show: what holds, and where it comes from."""

import json
from pathlib import Path

import pytest
import yaml

from skills_runtime.cli.main import NAMES
from tests.e2e.cli.programs import invoke
from tests.e2e.cli.terminals import on_a_terminal


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
    assert yaml.safe_load(answer.out)["safety"]["mode"] == "auto"
    assert answer.err.startswith("notice: ")
    assert "safety.mode" in answer.err


def test_a_section_or_a_setting_can_be_shown_alone(workspace: Path) -> None:
    (workspace / "a.yaml").write_text("run: {max_steps: 3}\n")
    section = yaml.safe_load(invoke("config", "show", "llm").out)
    assert list(section) == ["llm"]
    assert invoke("config", "show", "run.max_steps", "--config", "a.yaml").out == "run:\n  max_steps: 3\n"
    assert invoke("config", "show", "run.max_steps", "--json").out == "40\n"
    rows = json.loads(invoke("config", "show", "llm.retry", "--origin", "--json").out)
    assert {row["key"].rpartition(".")[0] for row in rows} == {"llm.retry"}


def test_an_unknown_section_is_refused_with_the_nearest(workspace: Path) -> None:
    answer = invoke("config", "show", "lmm")
    assert (answer.code, answer.out) == (22, "")
    assert "did you mean `llm`?" in answer.err


def test_origins_are_narrow_and_aligned_and_notes_have_lines_of_their_own(workspace: Path) -> None:
    (workspace / "kgent.yaml").write_text("safety: {mode: allow}\n")
    lines = invoke("config", "show", "--origin", name="skills-runtime").out.splitlines()
    assert not any(" " * 60 in line for line in lines)
    assert all(line == line.rstrip() for line in lines)
    assert len({line.index("yaml:embedded_default") for line in lines if " null " in line}) == 1
    [note] = [line for line in lines if "was ignored" in line]
    assert note.startswith("    `safety.mode: allow`")


def test_origins_fit_a_terminal(workspace: Path) -> None:
    with on_a_terminal("skills-runtime", "config", "show", "--origin", cwd=workspace, columns=80) as screen:
        screen.end()
    assert max(len(line.rstrip("\r")) for line in screen.text.splitlines()) <= 80


def test_all_faults_of_all_files_are_told_at_once(workspace: Path) -> None:
    (workspace / "a.yaml").write_text("run:\n  max_step: 3\n  max_tokens: many\nsaftey: {}\n")
    answer = invoke("run", "hi", "--config", "a.yaml")
    path = workspace / "a.yaml"
    assert (answer.code, answer.out) == (20, "")
    error, *others, kind, hint = answer.err.splitlines()
    assert error == f"error: `run.max_tokens` in `{path}` (line 3, column 3) must be an integer, not 'many'"
    assert others == [
        f"  also: `run.max_step` in `{path}` (line 2, column 3) is not a setting; did you mean `run.max_steps`?",
        f"  also: `saftey` in `{path}` (line 4, column 1) is not a setting; did you mean `safety`?",
    ]
    assert (kind, hint[:8]) == ("  kind: config_error", "  hint: ")


def test_very_many_faults_are_counted(workspace: Path) -> None:
    (workspace / "a.yaml").write_text("".join(f"unknown_{number}: 1\n" for number in range(30)))
    lines = invoke("config", "show", "--config", "a.yaml").err.splitlines()
    assert sum(line.startswith("  also: ") for line in lines) == 21
    assert "  also: 9 more" in lines
