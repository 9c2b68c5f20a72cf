"""doctor: one line a check, the fix below what fails, exit code 0 only if a run would work."""

import json
import os
from pathlib import Path

import pytest

from tests.e2e.cli.programs import Answer, call, environment, invoke, say, write_config
from tests.support import model_server
from tests.support.model_lists import lists_models, names
from tests.support.model_server import refuses, says
from tests.support.users import Unprivileged

KEY = "sk-very-secret-key"


def doctor(*arguments: str) -> Answer:
    return invoke("doctor", *arguments, name="skills-runtime")


def lines_of(answer: Answer) -> dict[str, str]:
    """The lines of the checks by their names."""
    return {line.split()[1]: line for line in answer.out.splitlines() if line[0] in "✓!✗"}


def use(base_url: str, monkeypatch: pytest.MonkeyPatch, model: str = "m") -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for key, value in (("llm.base_url", base_url), ("models.planner", model), ("models.executor", model)):
        assert invoke("config", "set", key, value).code == 0


def test_an_empty_home_fails_and_says_what_to_do(workspace: Path) -> None:
    answer = doctor()
    assert (answer.code, answer.err) == (1, "")
    lines = lines_of(answer)
    assert lines["key"] == "✗ key            `OPENAI_API_KEY` is not set"
    start = "✗ address        could not reach https://api.openai.com/v1 (llm.base_url from the defaults): "
    assert lines["address"].startswith(start)
    assert answer.out.count("fix: skills-runtime init\n") == 1
    assert "A run would not work here yet. 2 problems" in answer.out.splitlines()[-1]


def test_a_model_that_answers_makes_everything_work(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server.start([says("OK")]) as server:
        use(server.base_url, monkeypatch)
        answer = doctor()
    lines = lines_of(answer)
    assert answer.code == 0, answer.out
    assert lines["model"] == "✓ model          m is answering"
    assert lines["address"].endswith("(llm.base_url from ~/.config/skills_runtime/config.yaml) answers")
    assert lines["configuration"].endswith("valid; read ~/.config/skills_runtime/config.yaml")
    assert {"python", "commands", "sandbox", "workspace", "skills", "state", "disk", "studio", "extras"} < lines.keys()
    assert answer.out.splitlines()[-1].startswith("A run would work here.")


def test_the_document_has_every_check_and_no_key(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server.start([refuses(401, f"{KEY} is wrong")]) as server:
        use(server.base_url, monkeypatch)
        answer = doctor("--json")
    document = json.loads(answer.out)
    assert (answer.code, document["can_run"]) == (1, False)
    [model] = [check for check in document["checks"] if check["name"] == "model"]
    assert model["status"] == "failed"
    assert model["fix"] == "skills-runtime init"
    assert all(check.keys() == {"name", "status", "fact", "fix", "details"} for check in document["checks"])
    assert KEY not in answer.out + answer.err


def test_an_unknown_model_is_told_with_those_that_exist(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with lists_models(names("right-name")) as service:
        use(service.base_url, monkeypatch, "rigth-name")
        answer = doctor()
    assert answer.code == 1
    assert "it has right-name\n" in answer.out


def test_every_fault_of_the_configuration_is_a_line(workspace: Path) -> None:
    (workspace / "kgent.yaml").write_text("run:\n  max_step: 1\nsaftey: {}\n")
    answer = doctor()
    assert answer.code == 1
    assert "(line 2, column 3) is not a setting; did you mean `run.max_steps`?" in answer.out
    assert "(line 3, column 1) is not a setting; did you mean `safety`?" in answer.out


def test_a_scripted_model_works_with_a_warning(workspace: Path) -> None:
    write_config(workspace, say("done"))
    answer = doctor("--config", "kgent.yaml")
    assert lines_of(answer)["model"].startswith("! model          `llm.backend: fake`")
    assert answer.code == 0, answer.out


def test_a_terminal_without_unicode_gets_ascii_marks(workspace: Path) -> None:
    answer = call("skills-runtime", "doctor", cwd=workspace, env=environment(LC_ALL="C"))
    assert "x key  " in answer.out
    assert answer.out.isascii()


def test_a_workspace_that_does_not_exist_is_a_failed_check(workspace: Path) -> None:
    answer = doctor("--workspace-root", "none")
    assert answer.code == 1
    assert "does not exist" in lines_of(answer)["configuration"]


def test_directories_that_cannot_be_written_are_failed_checks(unprivileged: Unprivileged) -> None:
    closed = unprivileged.path / "closed"
    closed.mkdir(mode=0o555)
    doctor("--workspace-root", str(closed))  # imported here, where the sources can be read

    def attempt() -> Answer:
        os.environ["XDG_STATE_HOME"] = str(closed / "state")
        os.chdir(closed)
        return doctor("--set", "llm.base_url=http://127.0.0.1:9/v1")

    answer = unprivileged(attempt)
    lines = lines_of(answer)
    assert answer.code == 1
    assert lines["workspace"].startswith("✗ workspace")
    assert lines["workspace"].endswith(": Permission denied")
    assert lines["state"].startswith("✗ state")
    assert list(closed.iterdir()) == []
