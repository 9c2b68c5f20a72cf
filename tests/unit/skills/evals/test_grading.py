"""Checks that need no model."""

from pathlib import Path
from typing import Any

import pytest

from skills_runtime.skills.evals.grading import grade
from skills_runtime.skills.evals.suite import parse_check

ANSWER = "The Answer\nis 42.\n"
FIRST = {"ok": True, "n": 1, "name": "a"}
DOCUMENT = '{"items": [{"name": "a", "n": 1.0, "ok": true}], "a/b": null}'


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        ({"type": "contains", "value": "42"}, True),
        ({"type": "contains", "value": "the answer"}, False),
        ({"type": "contains", "value": "the answer", "ignore_case": True}, True),
        ({"type": "not_contains", "value": "43"}, True),
        ({"type": "not_contains", "value": "42"}, False),
        ({"type": "equals", "value": "The Answer\nis 42."}, True),
        ({"type": "regex", "pattern": r"^is \d+"}, True),
        ({"type": "not_regex", "pattern": r"^\d+"}, True),
        ({"type": "contains", "path": "a.txt", "value": "hello"}, True),
        ({"type": "contains", "path": "none.txt", "value": "hello"}, False),
        ({"type": "not_contains", "path": "none.txt", "value": "hello"}, False),
        ({"type": "contains", "path": "link.txt", "value": "root"}, False),
        ({"type": "file_exists", "path": "a.txt"}, True),
        ({"type": "file_exists", "path": "none.txt"}, False),
        ({"type": "file_missing", "path": "none.txt"}, True),
        ({"type": "json_equals", "path": "d.json", "pointer": "/items/0", "value": FIRST}, True),
        ({"type": "json_equals", "path": "d.json", "pointer": "/items/0/ok", "value": 1}, False),
        ({"type": "json_equals", "path": "d.json", "pointer": "/a~1b", "value": None}, True),
        ({"type": "json_equals", "path": "d.json", "pointer": "/items/7", "value": None}, False),
        ({"type": "json_equals", "path": "a.txt", "value": "hello"}, False),
    ],
)  # fmt: skip
def test_a_check_holds_or_not(check: dict[str, Any], passed: bool, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello\n")
    (tmp_path / "d.json").write_text(DOCUMENT)
    (tmp_path / "link.txt").symlink_to("/etc/passwd")

    graded = grade(parse_check(check, "1"), ANSWER, tmp_path)

    assert graded.passed is passed
    assert graded.evidence
    assert graded.text


def test_a_hostile_pattern_takes_no_time(tmp_path: Path) -> None:
    check = parse_check({"type": "regex", "pattern": "(a+)+$"}, "1")

    assert grade(check, "a" * 50_000 + "b", tmp_path).passed is False
