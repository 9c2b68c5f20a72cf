"""PostgreSQL as a source: what may be wrong with a server, a table or a row, and what it costs."""

import gc
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from skills_runtime.skills import SkillError
from skills_runtime.skills.sources.pgsql import PgsqlSource, connection_to
from skills_runtime.skills.sources.stored import MAX_BODY_BYTES, Dsn, adapt_client
from tests.contract.skill_sources.shelves import TABLE, PgsqlShelf, Published, origin
from tests.support.servers import Server, counted, free_port


def source_at(dsn: str, *, table: tuple[str, str] = TABLE) -> PgsqlSource:
    address = Dsn("PG_URL", dsn)
    return PgsqlSource(origin("web"), connection_to(address), table=table, dsn=address)


def test_listing_many_skills_takes_a_few_round_trips(pgsql_shelf: PgsqlShelf, a_postgres: Server) -> None:
    pgsql_shelf.connection.execute(
        "INSERT INTO agent.skills_catalog (namespace, skill_name, description, body)"
        " SELECT 'web', 'skill-' || number, 'Is one.', 'Do it.' FROM generate_series(1, 2000) AS number"
    )
    with counted(a_postgres.port) as trips:
        source = source_at(a_postgres.dsn(port=trips.port))
        assert len(source.skills().skills) == 2000
        connected = trips.total
        assert connected < 15
        assert len(source.skills().skills) == 2000
        assert trips.total <= connected + 1
        del source
        gc.collect()


def test_a_switched_off_row_is_no_skill(pgsql_shelf: PgsqlShelf) -> None:
    pgsql_shelf.publish(Published(name="one"))
    pgsql_shelf.publish(Published(name="two"))
    pgsql_shelf.remove("one")
    assert [skill.name for skill in pgsql_shelf.source().skills().skills] == ["two"]


def test_two_enabled_rows_of_one_name_are_refused_by_the_table(pgsql_shelf: PgsqlShelf) -> None:
    pgsql_shelf.publish(Published(name="one"))
    with pytest.raises(psycopg.errors.UniqueViolation):
        pgsql_shelf.publish(Published(name="one"))


def test_a_server_that_cannot_be_used_is_reported_without_its_password(a_postgres: Server) -> None:
    secret = "hunter2-very-secret"
    wrong = {
        a_postgres.dsn(password=secret): "refuses the user or the password",
        a_postgres.dsn(database="nowhere"): "no such database",
        f"postgresql://owner:{secret}@127.0.0.1:{free_port()}/x": "cannot be reached",
        f"postgresql://owner:{secret}@127.0.0.1:port/x": "",
        f"host=127.0.0.1 port={a_postgres.port} user=owner password={secret}": "refuses the user or the password",
        f"host=127.0.0.1 nonsense {secret}": "address",
        secret: "address",
    }
    for dsn, said in wrong.items():
        (problem,) = source_at(dsn).skills().problems
        assert problem.code == "SKILL_SCAN_SOURCE_UNAVAILABLE"
        assert said in problem.message, dsn.replace(secret, "…")
        assert "PG_URL" in problem.hint
        assert secret not in repr(problem)
        assert a_postgres.password not in repr(problem)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (("agent", "nothing"), "no such table"),
        (("nowhere", "skills_catalog"), "no such"),
        (("pg_catalog", "pg_class"), "lacks a column"),
        (("agent", 'x"; DROP TABLE agent.skills_catalog; --'), "no such table"),
    ],
)
def test_a_table_that_is_not_there_is_reported_with_how_to_make_it(
    table: tuple[str, str], said: str, pgsql_shelf: PgsqlShelf, a_postgres: Server
) -> None:
    pgsql_shelf.publish(Published(name="one"))
    (problem,) = source_at(a_postgres.dsn(), table=table).skills().problems
    assert (problem.code, "0001_skills_catalog.sql" in problem.hint) == ("SKILL_SCAN_SOURCE_UNAVAILABLE", True)
    assert said in problem.message
    assert len(pgsql_shelf.source().skills().skills) == 1


def test_a_user_without_rights_is_told(pgsql_shelf: PgsqlShelf, a_postgres: Server) -> None:
    pgsql_shelf.connection.execute("DROP ROLE IF EXISTS guest")
    pgsql_shelf.connection.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    dsn = f"postgresql://guest:guest@127.0.0.1:{a_postgres.port}/postgres"
    (problem,) = source_at(dsn).skills().problems
    assert "may not read" in problem.message or "no such" in problem.message


def test_a_text_that_is_too_large_does_not_travel(pgsql_shelf: PgsqlShelf) -> None:
    pgsql_shelf.connection.execute(
        "INSERT INTO agent.skills_catalog (namespace, skill_name, description, body)"
        " VALUES ('web', 'huge', 'Is huge.', repeat('x', %s))",
        (MAX_BODY_BYTES + 1,),
    )
    source = pgsql_shelf.source()
    (skill,) = source.skills().skills
    with pytest.raises(SkillError) as caught:
        source.body(skill)
    assert caught.value.code == "SKILL_BODY_TOO_LARGE"


def test_a_connection_that_broke_is_made_anew(pgsql_shelf: PgsqlShelf) -> None:
    pgsql_shelf.publish(Published(name="one"))
    source = pgsql_shelf.source()
    assert len(source.skills().skills) == 1
    pgsql_shelf.connection.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    assert len(source.skills().skills) == 1


@pytest.mark.parametrize("way", ["connection", "pool", "factory"])
def test_a_program_may_inject_what_it_has(way: str, pgsql_shelf: PgsqlShelf, a_postgres: Server) -> None:
    pgsql_shelf.publish(Published(name="one", body="Do.\n"))
    lent: list[str] = []

    class Pool:
        @contextmanager
        def connection(self) -> Generator[Any]:
            lent.append("lent")
            yield pgsql_shelf.connection

    given: Any = {
        "connection": pgsql_shelf.connection,
        "pool": Pool(),
        "factory": lambda: psycopg.connect(a_postgres.dsn()),
    }[way]
    source = PgsqlSource(origin("web"), adapt_client(given, "cursor"), table=TABLE)
    (skill,) = source.skills().skills
    assert source.body(skill) == "Do.\n"
    assert len(lent) == (2 if way == "pool" else 0)
    assert not pgsql_shelf.connection.closed


def test_what_is_neither_a_client_nor_a_pool_nor_a_factory_is_refused() -> None:
    with pytest.raises(TypeError):
        adapt_client(7, "cursor")
