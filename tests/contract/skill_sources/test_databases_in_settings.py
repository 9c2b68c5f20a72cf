"""Databases as the settings name them: addresses come from variables, and one that fails hides no other."""

import json
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.config.models import SkillsSettings
from skills_runtime.errors import ConfigError
from skills_runtime.skills import build_library
from skills_runtime.skills.configured import InjectedClients
from skills_runtime.skills.sources.refresh import Scans
from tests.contract.skill_sources.shelves import PREFIX, PgsqlShelf, Published, RedisShelf
from tests.e2e.cli.programs import invoke
from tests.support.servers import Server, free_port

SETTINGS: dict[str, Any] = {
    "spaces": [
        {"id": "one", "namespace": "web", "sources": ["kv"]},
        {"id": "two", "namespace": "shop", "sources": ["sql"]},
    ],
    "sources": [
        {"id": "kv", "type": "redis", "options": {"dsn_env": "KV_URL", "key_prefix": PREFIX}},
        {"id": "sql", "type": "pgsql", "options": {"dsn_env": "SQL_URL", "schema": "agent", "table": "skills_catalog"}},
    ],
}


@pytest.fixture
def shelves(redis_shelf: RedisShelf, pgsql_shelf: PgsqlShelf) -> tuple[RedisShelf, PgsqlShelf]:
    redis_shelf.publish(Published(name="writer", body="From redis.\n"))
    pgsql_shelf.publish(Published(name="seller", namespace="shop", body="From a table.\n"))
    return redis_shelf, pgsql_shelf


@pytest.mark.usefixtures("shelves")
def test_addresses_come_from_the_environment(a_redis: Server, a_postgres: Server, tmp_path: Path) -> None:
    environment = {"KV_URL": a_redis.dsn(), "SQL_URL": a_postgres.dsn()}
    library = build_library(SkillsSettings.model_validate(SETTINGS), tmp_path, environment=environment)
    found = {skill.mention.text: library.body(skill) for skill in library.list() if skill.space_id in ("one", "two")}
    assert found == {"$[web].writer": "From redis.\n", "$[shop].seller": "From a table.\n"}


@pytest.mark.usefixtures("shelves")
@pytest.mark.parametrize("broken", ["KV_URL", "SQL_URL"])
def test_a_server_that_is_down_hides_no_other(broken: str, a_redis: Server, a_postgres: Server, tmp_path: Path) -> None:
    addresses = {"KV_URL": a_redis.dsn(), "SQL_URL": a_postgres.dsn()}
    down = {"KV_URL": a_redis.dsn(port=free_port()), "SQL_URL": a_postgres.dsn(port=free_port())}
    library = build_library(
        SkillsSettings.model_validate(SETTINGS),
        tmp_path,
        sources_with=InjectedClients(get_variable={**addresses, broken: down[broken]}.get),
    )
    assert len([skill for skill in library.list() if skill.space_id in ("one", "two")]) == 1
    (problem,) = [one for one in library.problems() if one.severity == "error"]
    assert problem.code == "SKILL_SCAN_SOURCE_UNAVAILABLE"
    assert broken in problem.hint


def test_a_server_that_goes_down_leaves_the_skills_of_the_last_search(
    shelves: tuple[RedisShelf, PgsqlShelf], tmp_path: Path
) -> None:
    scans = Scans()
    settings = SkillsSettings.model_validate({**SETTINGS, "scan": {"refresh_policy": "ttl"}})
    given = {"kv": shelves[0].client, "sql": shelves[1].connection}

    def library() -> Any:
        return build_library(settings, tmp_path, sources_with=InjectedClients(clients=given, scans=scans))

    before = [skill.name for skill in library().list()]
    shelves[1].connection.close()
    scans.refresh()
    after = library()
    assert [skill.name for skill in after.list()] == before
    assert "SKILL_SCAN_REFRESH_FAILED" in [problem.code for problem in after.problems()]


def test_what_cannot_be_a_client_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        build_library(
            SkillsSettings.model_validate(SETTINGS), tmp_path, sources_with=InjectedClients(clients={"kv": 7})
        )
    assert "kv" in caught.value.message


@pytest.mark.usefixtures("shelves")
def test_a_scan_of_the_program_lists_them_and_tells_no_password(
    a_redis: Server, a_postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c.yaml").write_text(json.dumps({"skills": SETTINGS}))
    monkeypatch.setenv("KV_URL", a_redis.dsn())
    monkeypatch.setenv("SQL_URL", a_postgres.dsn(password="hunter2-wrong"))
    answer = invoke("skills", "scan", "--workspace-root", str(tmp_path), "--config", str(tmp_path / "c.yaml"))
    report = json.loads(answer.out)
    assert answer.code == 11
    assert "writer" in [skill["skill_name"] for skill in report["skills"]]
    (error,) = report["errors"]
    assert "refuses the user or the password" in error["message"]
    for secret in (a_redis.password, a_postgres.password, "hunter2-wrong"):
        assert secret not in answer.out + answer.err
