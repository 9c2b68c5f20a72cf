"""Skills on the command line when somebody means harm, or something is badly broken."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.cli.programs import Answer, invoke, say, write_config
from tests.unit.skills.samples import make_skill, skill_text

SHELL = ("shell_command", {"command": "touch made"})


def run_in(workspace: Path, prompt: str, *answers: dict[str, Any], **sections: Any) -> Answer:
    write_config(workspace, *(answers or (say("Done."),)), **sections)
    return invoke("run", "--config", "kgent.yaml", "--prompt", prompt, "--sandbox", "runs/one")


def activate(name: str) -> dict[str, Any]:
    return say("", ("activate_skill", {"name": name}))


def asking(**more: Any) -> dict[str, Any]:
    return {"safety": {"mode": "ask", **more}, "sandbox": {"default_policy": "none"}}


def name_skills_in_the_project(workspace: Path, space: str) -> None:
    settings = {
        "skills": {
            "spaces": [{"id": space, "namespace": "theirs", "sources": ["s"]}],
            "sources": [{"id": "s", "type": "filesystem", "options": {"root": "./skills"}}],
        }
    }
    (workspace / "config").mkdir()
    (workspace / "config" / "runtime.yaml").write_text(yaml.safe_dump(settings))


def test_a_skill_that_only_the_project_names_permits_nothing(workspace: Path) -> None:
    make_skill(workspace / "skills", "releaser", text=skill_text("releaser", extra="allowed-tools: Bash\n"))
    name_skills_in_the_project(workspace, "main")
    answer = run_in(workspace, "Go", activate("releaser"), say("", SHELL), say("Done."), **asking())
    assert answer.code != 0
    assert "needs an approval" in answer.err


def test_a_skill_of_the_user_permits_what_it_lists(workspace: Path, home: Path) -> None:
    text = skill_text("releaser", extra="allowed-tools: Bash(touch made)\n")
    make_skill(home / ".agents/skills", "releaser", text=text)
    answer = run_in(workspace, "Go", activate("releaser"), say("", SHELL), say("Done."), **asking())
    assert answer.code == 0, answer.err


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [("Use $[user].writre", "not_found"), ("Use $[nowhere].writer", "not_found"), ("Use $[user].huge", "validation")],
)
def test_a_run_that_cannot_begin_says_why_and_leaves_nothing(
    workspace: Path, home: Path, prompt: str, kind: str
) -> None:
    make_skill(home / ".agents/skills", "writer")
    with (make_skill(home / ".agents/skills", "huge") / "SKILL.md").open("ab") as file:
        file.truncate(100 << 20)
    answer = run_in(workspace, prompt)
    assert answer.code != 0
    assert f"kind: {kind}" in answer.err
    assert not (workspace / "runs").exists()


@pytest.mark.parametrize(
    "entry",
    [
        {"../../evil": {"source": "SOURCE", "sourceType": "local", "computedHash": "00"}},
        {"/tmp/evil": {"source": "SOURCE", "sourceType": "local", "computedHash": "00"}},
        {"writer": {"source": "ext::sh -c touch% made", "sourceType": "git", "computedHash": "00"}},
        {"writer": {"source": "--upload-pack=touch made", "sourceType": "git", "computedHash": "00"}},
        {"writer": {"source": "SOURCE", "sourceType": "local", "skillPath": "../..", "computedHash": "00"}},
        {"writer": {"source": "SOURCE", "sourceType": "local", "computedHash": "00"}},
        {"writer": {"source": "SOURCE", "sourceType": "local"}},
        {"writer": 5},
    ],
)
def test_a_hostile_lock_file_installs_nothing(workspace: Path, tmp_path: Path, entry: dict[str, Any]) -> None:
    source = make_skill(tmp_path / "made", "writer")
    text = json.dumps({"version": 1, "skills": entry}).replace("SOURCE", str(source))
    (workspace / "skills-lock.json").write_text(text)
    answer = invoke("skills", "install", "--frozen", "--yes")
    assert answer.code in (20, 21, 22)
    assert answer.err.count("error:") == 1
    assert not list(workspace.rglob("SKILL.md"))
    assert not (workspace / "made").exists()
    assert (workspace / "skills-lock.json").read_text() == text


def test_what_a_name_leads_out_to_is_not_where_a_skill_is_installed(workspace: Path, tmp_path: Path) -> None:
    make_skill(tmp_path / "made", "odd", text=skill_text("../../outside"))
    assert invoke("skills", "install", str(tmp_path / "made" / "odd"), "--yes").code == 0
    assert [str(one.relative_to(workspace)) for one in workspace.rglob("SKILL.md")] == [
        ".agents/skills/outside/SKILL.md"
    ]


def test_what_a_skill_says_of_itself_cannot_move_the_cursor(workspace: Path, home: Path) -> None:
    make_skill(home / ".agents/skills", "red", text=skill_text("red", '"\\e[31mred\\a \\u202ex"'))
    for command in (("list",), ("show", "red"), ("route", "red")):
        answer = invoke("skills", *command)
        assert answer.code == 0
        assert not set(answer.out) & set("\x1b\x07\u202e")


def test_a_route_tells_of_a_mention_that_leads_nowhere(workspace: Path, home: Path) -> None:
    make_skill(home / ".agents/skills", "writer")
    assert "did you mean `writer`" in invoke("skills", "route", "use $writre").out
