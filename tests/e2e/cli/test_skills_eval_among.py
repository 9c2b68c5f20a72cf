"""`skills eval` of queries with and without the skill, among other skills, against a model service on this machine."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli import programs
from tests.e2e.cli.models import write_settings
from tests.support import model_server
from tests.support.model_server import Answer
from tests.unit.skills.samples import make_skill, skill_text

QUERIES = [
    {"id": "poem", "query": "Poem?", "should_trigger": True},
    {"id": "aloud", "query": "Aloud?", "should_trigger": False},
    {"id": "sum", "query": "2+2?", "should_trigger": False},
]


def make(place: Path) -> None:
    """A skill that writes poems, beside one that reads aloud; both keep their own texts to themselves."""
    text = skill_text(description="Writes poems.", body="WRITER\n")
    make_skill(place / "skills", "writer", text=text, files={"evals/eval_queries.json": json.dumps(QUERIES)})
    make_skill(place / "skills", "reader", text=skill_text("reader", description="Reads aloud.", body="READER\n"))


def chooser(request: dict[str, Any]) -> Answer:
    """A model that likes the writer best, also where only the reader is of use, and else takes the reader."""
    said = json.dumps(request["messages"])
    if '"role": "tool"' in said or "2+2?" in said:
        return model_server.says("Done.", usage=(10, 1))
    name = "writer" if "Writes poems" in said else "reader" if "Reads aloud" in said else None
    if name is None:
        return model_server.says("I do it myself.", usage=(10, 1))
    return model_server.calls(("activate_skill", {"name": name}), usage=(10, 1))


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[model_server.ModelServer]:
    monkeypatch.setenv("MODEL_KEY", "secret")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.chdir(tmp_path)
    with model_server.start(chooser) as server:
        write_settings(tmp_path, server.base_url)
        make(tmp_path)
        yield server


def evaluate(*arguments: str) -> programs.Answer:
    return programs.invoke(
        "skills", "eval", "skills/writer", "--config", "kgent.yaml", *arguments, name="skills-runtime"
    )


def triggers(*arguments: str) -> dict[str, Any]:
    answer = evaluate("--json", *arguments)
    assert answer.code == 0, answer.err
    return json.loads(answer.out)["triggers"]


@pytest.mark.usefixtures("served")
def test_without_the_skill_the_report_names_the_skills_called_instead() -> None:
    report = triggers("--among", "skills", "--runs", "2")

    poem = report["queries"][0]["chosen"]
    assert {name: rate["hits"] for name, rate in poem["with_skill"]["skills"].items()} == {"writer": 2}
    assert {name: rate["hits"] for name, rate in poem["without_skill"]["skills"].items()} == {"reader": 2}
    assert poem["any_skill"]["value"] == 0.0
    assert poem["others"]["value"] == -1.0
    assert (poem["others"]["low"], poem["others"]["high"]) == (-1.0, pytest.approx(-0.07, abs=0.001))


@pytest.mark.usefixtures("served")
def test_a_false_alarm_that_takes_the_place_of_another_skill_is_seen() -> None:
    report = triggers("--among", "skills")

    assert report["false_alarms"]["hits"] == 1
    unwanted = report["unwanted"]
    assert (unwanted["with_skill"]["others"]["hits"], unwanted["without_skill"]["others"]["hits"]) == (0, 1)
    assert unwanted["others"]["value"] == -0.5
    assert unwanted["with_skill"]["none"]["hits"] == unwanted["without_skill"]["none"]["hits"] == 1


@pytest.mark.usefixtures("served")
def test_alone_nothing_is_called_without_the_skill() -> None:
    report = triggers()

    poem = report["queries"][0]["chosen"]
    assert poem["without_skill"]["none"]["hits"] == 1
    assert poem["any_skill"]["value"] == 1.0


def test_without_the_skill_nothing_of_it_is_reported(served: model_server.ModelServer) -> None:
    triggers("--among", "skills")

    told = [json.dumps(request["messages"]) for request in served.requests]
    firsts = [one for one in told if '"role": "tool"' not in one]
    assert len(firsts) == 6
    assert sum("Writes poems" in one for one in firsts) == 3
    assert all("Reads aloud" in one for one in firsts)


def test_no_baseline_leaves_out_the_trials_without_the_skill(served: model_server.ModelServer) -> None:
    report = triggers("--among", "skills", "--no-baseline")

    assert all("Writes poems" in json.dumps(request["messages"]) for request in served.requests)
    assert report["queries"][0]["chosen"]["without_skill"] is None
    assert report["wanted"]["any_skill"] is None


@pytest.mark.usefixtures("served")
def test_the_text_report_names_the_called_skills(tmp_path: Path) -> None:
    answer = evaluate("--among", "skills")

    assert answer.code == 0, answer.err
    assert "poem without skill run 1: called reader" in answer.err
    assert "sum with skill run 1: did not call the skill" in answer.err
    assert "without it: reader 1/1" in answer.out
    assert "without it: no skill 1/1" in answer.out
    assert "-100 points" in answer.out
    assert (tmp_path / "writer-workspace/iteration-1/triggers/poem/without_skill/run-1/trial.json").is_file()


@pytest.mark.usefixtures("served")
def test_other_skills_that_changed_do_not_mix_with_earlier_trials(tmp_path: Path) -> None:
    evaluate("--among", "skills", "--out", "out")
    (tmp_path / "skills/reader/SKILL.md").write_text(skill_text("reader", description="Reads.", body="READER\n"))

    answer = evaluate("--among", "skills", "--out", "out")

    assert answer.code == 20
    assert "before the other skills changed" in answer.err


@pytest.mark.usefixtures("served")
def test_a_second_skill_of_the_same_name_is_refused(tmp_path: Path) -> None:
    make_skill(tmp_path / "more", "writer", text=skill_text(description="Writes too."))

    answer = evaluate("--among", "more")

    assert answer.code == 20
    assert "two skills named `writer`" in answer.err
    assert not (tmp_path / "writer-workspace").exists()


@pytest.mark.usefixtures("served")
def test_a_place_without_skills_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    assert "no skills in" in evaluate("--among", "empty").err
    assert "nothing at" in evaluate("--among", "nowhere").err
    assert not (tmp_path / "writer-workspace").exists()


def test_trials_without_an_answer_do_not_count_on_either_side(tmp_path: Path, served: model_server.ModelServer) -> None:
    with model_server.start(lambda _: model_server.refuses(401)) as broken:
        write_settings(tmp_path, broken.base_url)
        first = evaluate("--among", "skills", "--json")
    write_settings(tmp_path, served.base_url)

    second = evaluate("--among", "skills", "--json")

    assert first.code == 1
    assert json.loads(first.out)["triggers"]["errors"] == 6
    assert json.loads(first.out)["triggers"]["wanted"]["any_skill"] is None
    assert second.code == 0
    assert json.loads(second.out)["triggers"]["errors"] == 0
