"""skills route: which skills a task calls for, why, and what the model would be told."""

import json
from pathlib import Path

from tests.e2e.cli.programs import invoke
from tests.unit.skills.samples import make_skill, skill_text

CONFIG = """
skills:
  spaces: [{id: a, namespace: web, sources: [one]}]
  sources:
  - {id: one, type: filesystem, options: {root: one}}
"""


def a_workspace(workspace: Path) -> None:
    (workspace / "conf.yaml").write_text(CONFIG)
    make_skill(workspace / "one", "slides", text=skill_text("slides", "Makes presentations."))
    make_skill(
        workspace / "one", "sheets", text=skill_text("sheets", "Edits spreadsheets.", extra="triggers: [pivot]\n")
    )
    make_skill(
        workspace / "one", "git-help", text=skill_text("git-help", "Repairs history.", body="Use cherry-pick.\n")
    )


def test_the_ranking_tells_rule_words_and_what_the_model_is_told(workspace: Path) -> None:
    a_workspace(workspace)
    done = invoke("skills", "route", "a deck for monday", "--config", "conf.yaml", "--json")
    found = json.loads(done.out)
    assert (done.code, done.err, found["decided_by"], found["considered"]) == (0, "", "model", 3)
    (first,) = found["choices"]
    assert (first["mention"], first["rule"], first["words"]) == ("$[web].slides", "words", ["deck"])
    assert first["prompt"] == "- $[web].slides: Makes presentations."
    assert found["catalog"]["level"] == "full"


def test_a_declared_trigger_decides_and_a_person_reads_why(workspace: Path) -> None:
    a_workspace(workspace)
    done = invoke("skills", "route", "pivot it", "--config", "conf.yaml")
    assert done.code == 0
    assert "decided: the task contains a trigger of the skill" in done.out
    assert "  1. $[web].sheets  trigger 1.00" in done.out
    assert "the model sees 3 skills" in done.out


def test_bodies_are_searched_too(workspace: Path) -> None:
    a_workspace(workspace)
    found = json.loads(invoke("skills", "route", "cherry-pick that", "--config", "conf.yaml", "--json").out)
    assert [choice["name"] for choice in found["choices"]] == ["git-help"]


def test_a_mention_of_nothing_is_reported(workspace: Path) -> None:
    a_workspace(workspace)
    done = invoke("skills", "route", "use $slides-pro", "--config", "conf.yaml")
    assert "notice: `$slides-pro` was left as it is" in done.out
    exact = invoke("skills", "route", "use $[web].nobody", "--config", "conf.yaml")
    assert exact.code != 0
    assert "nobody" in exact.err


def test_skills_of_a_directory_can_be_tried_without_settings(workspace: Path) -> None:
    a_workspace(workspace)
    found = json.loads(invoke("skills", "route", "presentation", "--from", "one", "--limit", "1", "--json").out)
    assert [choice["mention"] for choice in found["choices"]] == ["$[given].slides"]
    assert invoke("skills", "route", "x", "--from", "nowhere").code != 0


def test_a_task_that_fits_nothing_says_so(workspace: Path) -> None:
    a_workspace(workspace)
    assert "no skill matches this task" in invoke("skills", "route", "zzz", "--config", "conf.yaml").out
