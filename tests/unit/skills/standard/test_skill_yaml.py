"""skill.yaml: how a skill runs by itself, in JSON or YAML."""

import pytest

from skills_runtime.skills.skill import RunDefinition
from skills_runtime.skills.standard import parse_run

WHOLE = RunDefinition(
    name="get-resources",
    description="Says what there is.",
    runtime="python",
    timeout_ms=5000,
    artifacts=("artifacts/resources.json",),
    env=("API_KEY",),
    isolation="shared",
    warm=False,
)


@pytest.mark.parametrize(
    "text",
    [
        """{"name": "get-resources", "description": "Says what there is.", "timeout": 5000, "env": ["API_KEY"],
        \t"runtime": {"type": "python", "warm": false}, "artifacts": ["artifacts/resources.json"],
        "isolation": "shared"}""",
        """
name: get-resources
description: Says what there is.
runtime:
  type: python
  warm: false
timeout: 5000
artifacts: [artifacts/resources.json]
env:
- API_KEY
isolation: shared
""",
    ],
)
def test_both_formats_say_the_same(text: str) -> None:
    assert parse_run(text.encode()) == (WHOLE, ())


def test_only_a_name_and_a_kind_are_needed() -> None:
    definition, findings = parse_run(b'{"name": "go-on", "runtime": {"type": "shell"}, "timeout": null}')
    assert findings == ()
    assert definition == RunDefinition(name="go-on", runtime="shell")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Missing required field"),
        ("[", "neither JSON nor YAML"),
        ('{"name": 7', "neither JSON nor YAML"),
        ("- a", "must be a mapping"),
        ("runtime: {type: python}", "Missing required field"),
        ("name: ../evil\nruntime: {type: python}", "not a name"),
        ("name: ..\nruntime: {type: python}", "not a name"),
        ('{"name": "a\\u0007b", "runtime": {"type": "python"}}', "not a name"),
        ("name: ab", "`runtime.type`"),
        ("name: ab\nruntime: {type: ruby}", "`runtime.type`"),
        ("name: ab\nruntime: {type: python, warm: maybe}", "`runtime.warm`"),
        ("name: ab\nruntime: {type: python}\ntimeout: 1e15", "`timeout`"),
        ("name: ab\nruntime: {type: python}\ntimeout: -1", "`timeout`"),
        ("name: ab\nruntime: {type: python}\nartifacts: x", "`artifacts`"),
        ("name: ab\nruntime: {type: python}\nenv: [A B]", "`env`"),
        ("name: ab\nruntime: {type: python}\nisolation: none", "`isolation`"),
        ('{"name": "ab", "runtime": ' + "[" * 50 + "]" * 50 + "}", "nested"),
        ("name: " + "x" * 70_000, "longer than"),
    ],
)
def test_what_cannot_run_is_an_error_of_that_file(text: str, words: str) -> None:
    definition, findings = parse_run(text.encode())
    assert definition is None
    errors = [one for one in findings if one.severity == "error"]
    assert any(words in one.message for one in errors)
    assert {one.file for one in errors} == {"skill.yaml"}


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../b", "."])
def test_an_artifact_elsewhere_is_a_warning_and_an_error_only_when_strict(path: str) -> None:
    text = f"name: ab\nruntime: {{type: python}}\nartifacts: [own.txt, {path}]".encode()
    definition, findings = parse_run(text)
    assert definition is not None
    assert [(one.code, one.severity) for one in findings] == [("run_artifact_outside", "warning")]
    assert parse_run(text, mode="strict")[0] is None


def test_a_path_may_begin_with_the_directory_itself() -> None:
    definition, findings = parse_run(b"name: ab\nruntime: {type: python}\nartifacts: [./a/b.txt, c//d.txt]")
    assert definition is not None
    assert (definition.artifacts, findings) == (("a/b.txt", "c/d.txt"), ())


def test_a_time_limit_of_zero_is_none() -> None:
    definition, findings = parse_run(b'{"name": "go-on", "runtime": {"type": "shell"}, "timeout": 0}')
    assert definition is not None
    assert (definition.timeout_ms, findings) == (None, ())


def test_a_name_that_cannot_be_mentioned_and_unknown_fields_are_reported() -> None:
    definition, findings = parse_run(b"name: Get Resources\nruntime: {type: node}\nversion: 1\n")
    assert definition is not None
    assert [one.code for one in findings] == ["run_name_unusual", "run_unknown_fields"]
