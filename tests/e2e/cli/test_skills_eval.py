"""`skills eval` against a model service on this machine: with and without the skill, judged, resumed, stopped."""

import json
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli import programs
from tests.e2e.cli.models import model_environment, read_until, write_settings
from tests.support import model_server
from tests.support.model_server import Answer
from tests.unit.skills.samples import make_skill, skill_text

CASES = {
    "skill_name": "writer",
    "evals": [
        {
            "id": "poem",
            "prompt": "Write a poem about data.txt.",
            "files": ["evals/files/data.txt"],
            "assertions": [
                {"type": "contains", "value": "rhyme"},
                {"type": "file_exists", "path": "data.txt"},
                "The poem is good",
            ],
        }
    ],
}
QUERIES = [
    {"id": "yes", "query": "Poem?", "should_trigger": True},
    {"id": "no", "query": "2+2?", "should_trigger": False},
]


def make(place: Path, *, cases: Any = CASES, queries: Any = None) -> Path:
    files = {"evals/files/data.txt": "the data"}
    files |= {"evals/evals.json": json.dumps(cases)} if cases else {}
    files |= {"evals/eval_queries.json": json.dumps(queries)} if queries else {}
    text = skill_text(description="Writes poems.", body="SECRET-OF-THE-SKILL\n")
    return make_skill(place / "skills", "writer", text=text, files=files)


def poet(request: dict[str, Any]) -> Answer:
    """A model that rhymes only with the skill, and a judge that likes what rhymes."""
    said = json.dumps(request["messages"])
    if "You grade the result" in said:
        result = {"number": 1, "passed": "A rhyme" in said, "evidence": "it rhymes"}
        return model_server.says(json.dumps({"results": [result]}), usage=(10, 1))
    if "Poem?" in said and "SECRET-OF-THE-SKILL" not in said and '"role": "tool"' not in said:
        return model_server.calls(("activate_skill", {"name": "writer"}), usage=(10, 1))
    if "SECRET-OF-THE-SKILL" in said:
        return model_server.says("A rhyme.", usage=(100, 20))
    return model_server.says("Prose.", usage=(50, 10))


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[model_server.ModelServer]:
    monkeypatch.setenv("MODEL_KEY", "secret")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.chdir(tmp_path)
    with model_server.start(poet) as server:
        write_settings(tmp_path, server.base_url)
        yield server


def evaluate(*arguments: str) -> programs.Answer:
    return programs.invoke(
        "skills", "eval", "skills/writer", "--config", "kgent.yaml", *arguments, name="skills-runtime"
    )


def test_the_report_tells_what_the_skill_changes(tmp_path: Path, served: model_server.ModelServer) -> None:
    make(tmp_path)

    answer = evaluate("--runs", "2", "--json")

    assert answer.code == 0, answer.err
    report = json.loads(answer.out)
    summary = report["run_summary"]
    assert (summary["with_skill"]["passed"]["hits"], summary["with_skill"]["passed"]["trials"]) == (2, 2)
    assert summary["without_skill"]["passed"]["rate"] == 0.0
    assert summary["delta"]["passed"]["value"] == 1.0
    assert summary["with_skill"]["tokens"]["mean"] == 120
    rates = report["evals"][0]["assertions"]["`data.txt` exists"]
    assert (rates["with_skill"]["hits"], rates["without_skill"]["hits"]) == (2, 2)
    assert "[4/4]" in answer.err


def test_every_trial_is_a_run_with_its_grades_beside_it(tmp_path: Path, served: model_server.ModelServer) -> None:
    make(tmp_path)

    assert evaluate().code == 0

    place = tmp_path / "writer-workspace" / "iteration-1"
    trial = place / "eval-poem" / "without_skill" / "run-1"
    assert programs.invoke("verify", str(trial / "run"), name="skills-runtime").code == 0
    assert (trial / "outputs" / "data.txt").read_text() == "the data"
    grading = json.loads((trial / "grading.json").read_text())
    assert grading["summary"] == {"passed": 1, "failed": 2, "total": 3}
    assert json.loads((trial / "timing.json").read_text())["total_tokens"] == 60
    assert "run_summary" in json.loads((place / "benchmark.json").read_text())
    assert not (place / "skill" / "writer" / "evals").exists(), "a trial never sees the answers"


def test_without_the_skill_nothing_of_it_is_reported(tmp_path: Path, served: model_server.ModelServer) -> None:
    make(tmp_path)

    evaluate("--no-judge")

    told = [json.dumps(request["messages"]) for request in served.requests]
    assert sum("Writes poems" in one or "SECRET" in one for one in told) == 1
    assert len(told) == 2


def test_expectations_without_a_judge_are_undecided(tmp_path: Path, served: model_server.ModelServer) -> None:
    make(tmp_path)

    report = json.loads(evaluate("--no-judge", "--json").out)

    assert report["run_summary"]["with_skill"]["undecided"] == 1
    assert report["run_summary"]["with_skill"]["passed"]["trials"] == 0
    assert report["run_summary"]["without_skill"]["passed"]["hits"] == 0


def test_queries_tell_when_the_skill_is_called(tmp_path: Path, served: model_server.ModelServer) -> None:
    make(tmp_path, cases=None, queries=QUERIES)

    answer = evaluate("--runs", "3")

    assert answer.code == 0, answer.err
    assert "queries that do what they should: 100% (2 of 2" in answer.out
    assert "called where it should be: 100% (3 of 3; 95 % interval 44% to 100%)" in answer.out
    assert "called where it should not be: 0% (0 of 3" in answer.out


def test_what_is_done_is_not_done_again_and_more_runs_add_to_it(
    tmp_path: Path, served: model_server.ModelServer
) -> None:
    make(tmp_path)
    evaluate("--out", "out")
    before = len(served.requests)

    again = evaluate("--out", "out", "--runs", "2", "--json")

    assert json.loads(again.out)["run_summary"]["with_skill"]["passed"]["trials"] == 2
    assert len(served.requests) - before == before


def test_a_changed_skill_does_not_mix_with_earlier_trials(tmp_path: Path, served: model_server.ModelServer) -> None:
    skill = make(tmp_path)
    evaluate("--out", "out")
    (skill / "SKILL.md").write_text(skill_text(body="changed\n"))

    answer = evaluate("--out", "out")

    assert answer.code == 20
    assert "before the skill changed" in answer.err


def test_trials_that_fail_by_themselves_do_not_count_and_are_made_again(
    tmp_path: Path, served: model_server.ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path)
    broken: Callable[[dict[str, Any]], Answer] = lambda _: model_server.refuses(401)  # noqa: E731
    with model_server.start(broken) as server:
        write_settings(tmp_path, server.base_url)
        first = evaluate("--json")
    write_settings(tmp_path, served.base_url)

    second = evaluate("--json")

    assert first.code == 1
    assert json.loads(first.out)["run_summary"]["with_skill"]["errors"] == 1
    assert json.loads(first.out)["run_summary"]["with_skill"]["passed"]["rate"] is None
    assert second.code == 0
    assert [path.name for path in (tmp_path / "writer-workspace").iterdir()] == ["iteration-1"]


def test_an_interrupted_evaluation_goes_on_where_it_was(tmp_path: Path) -> None:
    make(tmp_path)
    reached, let_go = threading.Event(), threading.Event()

    def slow(request: dict[str, Any]) -> Answer:
        said = json.dumps(request["messages"])
        if "SECRET" not in said and "You grade" not in said and not let_go.is_set():
            reached.set()
            let_go.wait()
        return poet(request)

    words = ["skills", "eval", "skills/writer", "--config", "kgent.yaml", "--json"]
    with model_server.start(slow) as server:
        write_settings(tmp_path, server.base_url)
        process = programs.start("skills-runtime", *words, cwd=tmp_path, env=model_environment())
        try:
            read_until(process.stderr, b"[1/2]")
            assert reached.wait(programs.TIMEOUT_SECONDS)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=programs.TIMEOUT_SECONDS)
        finally:
            let_go.set()
        asked = len(server.requests)
        again = programs.call("skills-runtime", *words, cwd=tmp_path, env=model_environment())

        assert process.returncode == 130
        assert b"the same command resumes" in err
        assert again.code == 0, again.err
        assert json.loads(again.out)["run_summary"]["delta"]["passed"]["value"] == 1.0
        assert len(server.requests) - asked == 2, "the answer that was cut, and its judge"
