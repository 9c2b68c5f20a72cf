"""skills list and skills trust, and a run that is offered what lies in its directory."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli.programs import invoke, say, write_config
from tests.unit.skills.samples import make_skill, skill_text

LISTED = "Available skills"


def listed(*more: str) -> dict[str, Any]:
    answer = invoke("skills", "list", "--json", *more)
    assert (answer.code, answer.err) == (0, "")
    return json.loads(answer.out)


def own_skills(*more: str) -> list[dict[str, Any]]:
    """All but those that come with the runtime."""
    return [one for one in listed(*more)["skills"] if one["state"] != "built-in"]


def states() -> list[tuple[str, str, str]]:
    return [(one["name"], one["state"], one["mention"]) for one in own_skills()]


def prompt_of(directory: Path) -> str:
    return (directory / "effective-system-prompt.md").read_text()


def run_in(workspace: Path, directory: str, prompt: str = "Go") -> str:
    write_config(workspace, say("Done."))
    answer = invoke("run", "--config", "kgent.yaml", "--prompt", prompt, "--sandbox", directory)
    assert answer.code == 0, answer.err
    return answer.err


def test_a_run_is_offered_the_skills_of_its_project_once_it_is_trusted(workspace: Path) -> None:
    make_skill(workspace / ".agents/skills", "writer")
    told = run_in(workspace, "runs/before")
    assert "the project is not trusted" in told
    assert "writer" not in prompt_of(workspace / "runs/before")
    assert invoke("skills", "trust").out == f"{workspace} is now trusted\n"
    told = run_in(workspace, "runs/after")
    assert "trusted" not in told
    assert "$[project].writer: Writes things." in prompt_of(workspace / "runs/after")


def test_a_run_calls_a_discovered_skill_by_its_mention(workspace: Path, home: Path) -> None:
    make_skill(home / ".agents/skills", "writer", text=skill_text(body="Write with care.\n"))
    run_in(workspace, "runs/one", "Use $[user].writer now")
    events = [json.loads(line) for line in (workspace / "runs/one/events.jsonl").read_text().splitlines()]
    (injected,) = [event["payload"] for event in events if event["type"] == "skill_injected"]
    assert (injected["skill_name"], injected["namespace"]) == ("writer", "user")


def test_a_run_without_any_skills_is_told_of_none(workspace: Path) -> None:
    told = run_in(workspace, "runs/one")
    assert "skill" not in told
    assert LISTED not in prompt_of(workspace / "runs/one")


def test_every_skill_is_listed_with_its_state_and_its_place(workspace: Path, home: Path) -> None:
    make_skill(workspace / ".agents/skills", "theirs")
    make_skill(workspace / ".agents/skills", "odd", text="broken")
    make_skill(home / ".agents/skills", "mine")
    make_skill(home / ".agents/skills", "bad", text="broken")
    make_skill(home / ".claude/skills", "mine", text=skill_text("mine", "Another."))
    assert states() == [
        ("bad", "broken", ""),
        ("mine", "offered", "$[user].mine"),
        ("mine", "shadowed", "$[user:claude].mine"),
        ("odd", "untrusted", ""),
        ("theirs", "untrusted", "$[project].theirs"),
    ]
    found = listed()
    assert (found["project"], found["trusted"]) == (str(workspace), False)
    assert [one["code"] for one in found["problems"]] == ["SKILL_FOLDER_UNTRUSTED"]
    mine, hidden = own_skills()[1:3]
    assert mine["path"] == str(home / ".agents/skills/mine/SKILL.md")
    assert "hidden by `$[user].mine`" in hidden["reason"]


def test_the_list_for_people_says_the_same(workspace: Path, home: Path) -> None:
    make_skill(workspace / ".agents/skills", "theirs")
    make_skill(home / ".agents/skills", "mine")
    answer = invoke("skills", "list")
    assert answer.code == 0
    assert "offered   $[user].mine" in answer.out
    assert "untrusted $[project].theirs" in answer.out
    assert "hint: review them with `skills list`, then run `skills trust`" in answer.out
    assert answer.out.endswith("7 skills: 5 built in, 1 offered, 1 untrusted\n")


def test_a_list_without_own_skills_says_how_to_begin(workspace: Path) -> None:
    del workspace
    out = invoke("skills", "list").out
    assert "built in  $[web:mvp].article-writer" in out
    assert out.splitlines()[-1].startswith("create your own with `skills new NAME`")
    assert listed()["trusted"] is None


def test_trust_is_for_the_whole_repository_and_can_be_taken_back(workspace: Path) -> None:
    (workspace / ".git").mkdir()
    (workspace / "inner").mkdir()
    make_skill(workspace / ".agents/skills", "writer")
    assert invoke("skills", "trust", "inner").out == f"{workspace} is now trusted\n"
    assert invoke("skills", "trust").out == f"{workspace} is already trusted\n"
    assert states() == [("writer", "offered", "$[project].writer")]
    assert invoke("skills", "trust", "--remove").out == f"{workspace} is no longer trusted\n"
    assert states() == [("writer", "untrusted", "$[project].writer")]


@pytest.mark.parametrize("directory", ["nothing", ""])
def test_only_a_directory_can_be_trusted(workspace: Path, directory: str) -> None:
    answer = invoke("skills", "trust", directory)
    assert answer.code in (20, 22)
    assert "hint" in answer.err
    assert not list(workspace.iterdir())


def test_discovery_can_be_switched_off(workspace: Path, home: Path) -> None:
    del workspace
    make_skill(home / ".agents/skills", "mine")
    assert own_skills("--set", "skills.discovery.enabled=false") == []
