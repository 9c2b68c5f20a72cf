"""Judging settings of skills from the settings alone."""

import socket
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.config.models import SkillsSettings
from skills_runtime.skills.configured import OPTIONS, preflight

REDIS = {"id": "r", "type": "redis", "options": {"dsn_env": "REDIS_URL", "key_prefix": "skills:"}}
PGSQL = {"id": "p", "type": "pgsql", "options": {"dsn_env": "PG_URL", "schema": "agent", "table": "skills_catalog"}}
FILES = {"id": "f", "type": "filesystem", "options": {"root": "skills"}}
PACKAGES = {"id": "k", "type": "packages", "options": {"packages": ["pydantic_ai"]}}
ROWS = {"id": "m", "type": "in-memory", "options": {"namespace": "web"}}
SPACE = {"id": "s", "namespace": "web", "sources": ["r", "p", "f", "k", "m"]}
GOOD: dict[str, Any] = {"spaces": [SPACE], "sources": [REDIS, PGSQL, FILES, PACKAGES, ROWS]}


def codes(**settings: Any) -> list[str]:
    return [
        problem.code.removeprefix("SKILL_CONFIG_") for problem in preflight(SkillsSettings.model_validate(settings))
    ]


def with_option(source: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {**source, "options": {**source["options"], **options}}


def test_settings_that_can_work_have_no_problems() -> None:
    assert codes(**GOOD) == []
    assert codes() == []


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ({**REDIS, "options": {}}, ["MISSING_REQUIRED_OPTION", "MISSING_REQUIRED_OPTION"]),
        ({**PGSQL, "options": {"dsn_env": "A"}}, ["MISSING_REQUIRED_OPTION", "MISSING_REQUIRED_OPTION"]),
        ({**FILES, "options": {}}, ["MISSING_REQUIRED_OPTION"]),
        (with_option(REDIS, dsn_env="redis://:secret@host"), ["INVALID_ENV_VAR_NAME"]),
        (with_option(REDIS, dsn_env=7), ["INVALID_OPTION"]),
        (with_option(REDIS, key_prefix=""), ["INVALID_OPTION"]),
        (with_option(REDIS, host="x", port=1), ["INVALID_OPTION", "INVALID_OPTION"]),
        (with_option(PGSQL, table="x" * 64), ["INVALID_OPTION"]),
        (with_option(PGSQL, schema="a\0b"), ["INVALID_OPTION"]),
        (with_option(FILES, root="a\0b"), ["INVALID_OPTION"]),
        (with_option(PACKAGES, packages="pydantic_ai"), ["INVALID_OPTION"]),
        (with_option(PACKAGES, packages=["../evil"]), ["INVALID_OPTION"]),
        (with_option(ROWS, namespace=1), ["INVALID_OPTION"]),
    ],
)
def test_what_is_wrong_with_a_source_is_reported(source: dict[str, Any], code: list[str]) -> None:
    assert codes(sources=[source]) == code


def test_every_problem_is_reported_and_not_only_the_first() -> None:
    spaces = [{**SPACE, "namespace": "Web", "sources": ["gone", "r"]}, SPACE]
    assert codes(spaces=spaces, sources=[REDIS, REDIS]) == [
        "DUPLICATE_SPACE_ID", "DUPLICATE_SOURCE_ID", "INVALID_SPACE_NAMESPACE", "SPACE_SOURCE_NOT_FOUND",
        *["SPACE_SOURCE_NOT_FOUND"] * 4,
    ]  # fmt: skip


def test_what_does_nothing_is_a_warning() -> None:
    (problem,) = preflight(SkillsSettings.model_validate({"versioning": {"enabled": True, "strategy": "pin"}}))
    assert (problem.code, problem.severity) == ("SKILL_CONFIG_VERSIONING_IGNORED", "warning")


def test_a_source_with_an_injected_client_needs_no_address() -> None:
    settings = SkillsSettings.model_validate({"sources": [{**REDIS, "options": {"key_prefix": "x"}}]})
    assert len(preflight(settings)) == 1
    assert preflight(settings, injected={"r"}) == ()


def test_an_address_in_the_place_of_a_variable_is_not_repeated() -> None:
    settings = {"sources": [with_option(REDIS, dsn_env="redis://:hunter2@host")]}
    assert "hunter2" not in repr(preflight(SkillsSettings.model_validate(settings)))


def test_nothing_is_opened_or_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("preflight looks at settings only")

    settings = SkillsSettings.model_validate(GOOD)
    for owner, name in ((socket.socket, "connect"), (Path, "open"), (Path, "stat"), (Path, "iterdir")):
        monkeypatch.setattr(owner, name, refuse)
    assert preflight(settings) == ()


def test_every_kind_of_source_of_the_settings_is_known() -> None:
    from typing import get_args

    from skills_runtime.config.models import SkillSource

    assert set(get_args(SkillSource.model_fields["type"].annotation)) == set(OPTIONS)
