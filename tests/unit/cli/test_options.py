"""What people type: tasks, assignments, ids."""

from pathlib import Path

import pytest

from skills_runtime.cli.options import MAX_BYTES, display_path, parse_assignments, read_prompt
from skills_runtime.cli.output import short_id
from skills_runtime.cli.program import UsageError
from skills_runtime.errors import ConfigError, ValidationFailed


def test_a_task_comes_from_whichever_place_it_was_given(tmp_path: Path) -> None:
    file = tmp_path / "task.md"
    file.write_text("\ufeff写报告\n", encoding="utf-8")
    assert read_prompt("a", None, None) == "a"
    assert read_prompt(None, "b", None) == "b"
    assert read_prompt(None, None, str(file)) == "写报告\n"


@pytest.mark.parametrize("given", [("a", "b", None), ("a", None, "c"), (None, None, None)])
def test_a_task_is_given_exactly_once(given: tuple[str | None, str | None, str | None]) -> None:
    with pytest.raises(UsageError):
        read_prompt(*given)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"x" * (MAX_BYTES + 1), b" \n"])
def test_a_file_that_is_no_task_is_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "task.md"
    file.write_bytes(data)
    with pytest.raises(ValidationFailed):
        read_prompt(None, None, str(file))


@pytest.mark.parametrize(
    ("assignment", "tree"),
    [
        ("run.max_steps=5", {"run": {"max_steps": 5}}),
        ("models.executor=a=b", {"models": {"executor": "a=b"}}),
        ("safety.denylist=[rm, dd]", {"safety": {"denylist": ["rm", "dd"]}}),
        ("llm=retry: {max_retries: 1}", {"llm": {"retry": {"max_retries": 1}}}),
        ("prompt.system_text=", {"prompt": {"system_text": None}}),
        ("prompt.system_text='第一行'", {"prompt": {"system_text": "第一行"}}),
    ],
)
def test_an_assignment_is_a_dotted_key_and_a_yaml_value(assignment: str, tree: dict[str, object]) -> None:
    assert parse_assignments([assignment]) == tree


def test_later_assignments_win_and_the_rest_is_kept() -> None:
    assert parse_assignments(["a.b=1", "a.c=2", "a.b=3"]) == {"a": {"b": 3, "c": 2}}


@pytest.mark.parametrize("assignment", ["", "=1", "a", " =1", "a=\udcff"])
def test_what_assigns_nothing_is_refused(assignment: str) -> None:
    with pytest.raises(ValidationFailed):
        parse_assignments([assignment])


@pytest.mark.parametrize("value", ["[", "{a: 1, a: 2}", "&a [*a]", "2026-13-45"])
def test_a_value_that_is_not_yaml_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match="--set"):
        parse_assignments([f"a={value}"])


@pytest.mark.parametrize(
    ("run_id", "short"),
    [
        ("run_0199aabbccdd7000800012345678abcd", "0199aabbccdd"),
        ("demo-001", "demo-001"),
        ("run_0199", "run_0199"),
        ("run_0199AABBCCDD7000800012345678ABCD", "run_0199AABBCCDD7000800012345678ABCD"),
    ],
)
def test_only_generated_ids_are_shortened(run_id: str, short: str) -> None:
    assert short_id(run_id) == short


def test_a_path_below_here_is_shown_as_one_would_type_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert display_path(tmp_path / "runs/r") == "runs/r"
    assert display_path(tmp_path.parent / "other") == str(tmp_path.parent / "other")
