"""Commands about skills that go wrong: one clear sentence, a stable kind, a hint, and everything that is wrong."""

import json
import socket
from pathlib import Path

import pytest

from tests.e2e.cli.programs import invoke
from tests.unit.skills.samples import make_skill


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


SETTINGS = """
skills:
  spaces: [{id: s, namespace: "Bad", sources: [zz]}]
  sources: [{id: r, type: redis, options: {dsn_env: "%s", key_prefix: k}}]
"""


def test_a_wrong_name_of_a_variable_is_reported_beside_everything_else(workspace: Path, home: Path) -> None:
    (workspace / "r.yaml").write_text(SETTINGS % "1X")
    answer = json.loads(invoke("skills", "preflight", "--config", "r.yaml").out)
    assert [one["code"].removeprefix("SKILL_CONFIG_") for one in answer["issues"]] == [
        "INVALID_ENV_VAR_NAME", "INVALID_SPACE_NAMESPACE", "SPACE_SOURCE_NOT_FOUND"
    ]  # fmt: skip


def test_an_address_in_place_of_a_variable_is_never_repeated(workspace: Path, home: Path) -> None:
    (workspace / "r.yaml").write_text(SETTINGS % "redis://me:hunter2@db")
    answer = invoke("skills", "preflight", "--config", "r.yaml")
    assert json.loads(answer.out)["issues"][0]["code"] == "SKILL_CONFIG_INVALID_ENV_VAR_NAME"
    assert "hunter2" not in answer.out + answer.err


def test_the_workspace_is_reported_whole_when_settings_cannot_be_read(workspace: Path, home: Path) -> None:
    answer = json.loads(invoke("skills", "preflight", "--config", "nosuch.yaml").out)
    assert answer["stats"]["workspace_root"] == str(workspace)


@pytest.mark.parametrize("source", ["./nosuch", "/nosuch/at/all", "nosuch.zip"])
def test_installing_from_a_place_that_is_not_there_is_not_found(workspace: Path, home: Path, source: str) -> None:
    answer = invoke("skills", "install", source, "--yes")
    assert (answer.code, "kind: not_found" in answer.err) == (22, True)


def test_a_refused_connection_has_a_kind_and_a_hint(workspace: Path, home: Path) -> None:
    with socket.socket() as closed:  # bound and not listening: nobody else answers there meanwhile
        closed.bind(("127.0.0.1", 0))
        answer = invoke("skills", "install", f"http://127.0.0.1:{closed.getsockname()[1]}/writer.zip", "--yes")
    assert (answer.code, "kind: not_found" in answer.err) == (22, True)
    assert "whether the site is up" in answer.err


@pytest.mark.parametrize("task", ["", "  \n"])
def test_no_task_is_refused(workspace: Path, home: Path, task: str) -> None:
    answer = invoke("skills", "route", task)
    assert (answer.code, answer.out) == (20, "")


def plugin(place: Path, skill: str) -> None:
    (place / ".claude-plugin").mkdir(parents=True)
    (place / ".claude-plugin/plugin.json").write_text('{"name": "pp"}')
    make_skill(place / "skills", skill)


def test_two_plugins_of_one_name_do_not_share_a_namespace_silently(workspace: Path, home: Path) -> None:
    plugin(home / ".agents/plugins/pp", "mine")
    plugin(workspace / ".agents/plugins/pp", "theirs")
    assert "SKILL_NAME_AMBIGUOUS" not in invoke("skills", "list", "--json").out
    invoke("skills", "trust")
    assert "SKILL_NAME_AMBIGUOUS" in invoke("skills", "list", "--json").out


def runs(place: Path, code: str, **fields: object) -> None:
    definition = {"name": "worker", "runtime": {"type": "python"}, **fields}
    make_skill(place, "worker", files={"skill.yaml": json.dumps(definition), "run.py": code})


def test_a_skill_that_takes_too_long_is_reported_with_the_field_to_change(workspace: Path, home: Path) -> None:
    runs(workspace / "skills", "import time; time.sleep(1000)\n", timeout=500)
    answer = invoke("skills", "exec", "worker", "--from", "skills", "--input", "{}")
    assert "`timeout` in the `skill.yaml` of `worker`" in answer.err


def test_an_artifact_that_is_missing_or_a_link_is_reported(workspace: Path, home: Path) -> None:
    code = "import os; os.symlink('/etc/hostname', 'link.txt'); print('{}')\n"
    runs(workspace / "skills", code, artifacts=["link.txt", "missing.txt"])
    answer = invoke("skills", "exec", "worker", "--from", "skills", "--input", "{}")
    assert answer.code == 0
    assert "notice: the artifact `link.txt` was not saved: it is a link" in answer.err
    assert "notice: the artifact `missing.txt` was not saved: it does not exist" in answer.err
