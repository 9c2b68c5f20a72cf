"""Which evals a file holds, in both public schemas, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.errors import NotFound, SkillsRuntimeError
from skills_runtime.skills.evals import Suite, load_suite
from tests.unit.skills.samples import make_skill


def make_writer(directory: Path, **files: Any) -> Path:
    names = {name.replace("__", "/") + ".json": json.dumps(content) for name, content in files.items()}
    return make_skill(directory, "writer", files=names)


def load_cases(directory: Path, *rows: Any) -> Suite:
    return load_suite(make_writer(directory, evals__evals={"skill_name": "writer", "evals": rows}))


def test_the_guides_schema_has_assertions(tmp_path: Path) -> None:
    row = {"id": "top-months", "prompt": "Do it", "files": ["evals/files/a.csv"], "assertions": ["It is done"]}

    (case,) = load_cases(tmp_path, row).cases

    assert (case.id, case.prompt, case.files) == ("top-months", "Do it", ("evals/files/a.csv",))
    assert [(check.type, check.text) for check in case.checks] == [("judged", "It is done")]


def test_the_other_schema_has_expectations_and_numbers(tmp_path: Path) -> None:
    row = {"id": 1, "prompt": "Do it", "expected_output": "Done", "files": [], "expectations": ["It is done"]}

    (case,) = load_cases(tmp_path, row).cases

    assert (case.id, case.expected_output) == ("1", "Done")
    assert [check.text for check in case.checks] == ["It is done"]


def test_a_case_with_only_an_expected_output_is_judged_by_it(tmp_path: Path) -> None:
    (case,) = load_cases(tmp_path, {"prompt": "Do it", "expected_output": "A poem"}).cases

    assert "A poem" in case.checks[0].text


def test_queries_stand_beside_the_cases(tmp_path: Path) -> None:
    cases = {"evals": [{"prompt": "Do it", "assertions": ["Done"]}]}
    queries = [{"query": "write", "should_trigger": True}, {"query": "count", "should_trigger": False}]

    suite = load_suite(make_writer(tmp_path, evals__evals=cases, evals__eval_queries=queries))

    assert len(suite.cases) == 1
    assert [(query.query, query.should_trigger) for query in suite.queries] == [("write", True), ("count", False)]


def test_queries_may_be_the_only_evals_and_may_be_called_prompts(tmp_path: Path) -> None:
    rows = {"evals": [{"prompt": "write", "should_trigger": True}]}

    suite = load_suite(make_writer(tmp_path, evals__trigger_evals=rows))

    assert (suite.cases, [query.query for query in suite.queries]) == ((), ["write"])


def test_a_file_finds_the_skill_above_it(tmp_path: Path) -> None:
    directory = make_writer(tmp_path, evals__evals=[{"prompt": "Do it", "assertions": ["Done"]}])

    assert load_suite(directory / "evals" / "evals.json").skill == directory


def test_a_file_elsewhere_needs_the_skill(tmp_path: Path) -> None:
    path = tmp_path / "evals.json"
    path.write_text('[{"query": "x", "should_trigger": true}]')

    with pytest.raises(NotFound, match="is a skill"):
        load_suite(path)
    assert load_suite(path, skill=make_writer(tmp_path)).files == tmp_path


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("text", "not a mapping"),
        ({"assertions": ["x"]}, "no `prompt`"),
        ({"prompt": "x"}, "has no expected result"),
        ({"prompt": "x", "assertions": "y"}, "not a list"),
        ({"prompt": "x", "assertions": [1]}, "must be a sentence"),
        ({"prompt": "x", "assertions": [{"type": "magic"}]}, "no type 'magic'"),
        ({"prompt": "x", "assertions": [{"type": "regex", "pattern": "("}]}, "not a regular expression"),
        ({"prompt": "x", "assertions": [{"type": "contains"}]}, "needs a `value`"),
        ({"prompt": "x", "assertions": [{"type": "file_exists", "path": "../x"}]}, "leads out"),
        ({"prompt": "x", "assertions": ["y"], "files": ["/etc/passwd"]}, "paths inside the skill"),
        ({"prompt": "x", "should_trigger": "yes"}, "neither true nor false"),
    ],
)
def test_invalid_row_is_refused_with_its_number(row: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(SkillsRuntimeError, match=reason) as caught:
        load_cases(tmp_path, row)

    assert "1 of" in caught.value.message


def test_two_evals_of_one_id_are_refused(tmp_path: Path) -> None:
    row = {"id": 1, "prompt": "x", "assertions": ["y"]}

    with pytest.raises(SkillsRuntimeError, match="two evals have the id `1`"):
        load_cases(tmp_path, row, row)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"evals": {}}', "3", "\x00", "[" * 5000])
def test_a_file_that_holds_no_evals_is_refused(text: str, tmp_path: Path) -> None:
    directory = make_skill(tmp_path, "writer", files={"evals/evals.json": text})

    with pytest.raises(SkillsRuntimeError):
        load_suite(directory)


def test_a_skill_without_evals_says_where_they_belong(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="has no evals"):
        load_suite(make_writer(tmp_path))
