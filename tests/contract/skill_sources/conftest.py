"""Servers that are started once, and a shelf of each kind that is empty for each test."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from skills_runtime.skills.sources.pgsql import MIGRATIONS
from tests.contract.skill_sources.shelves import (
    FilesShelf,
    MemoryShelf,
    PackagesShelf,
    PgsqlShelf,
    RedisShelf,
    Shelf,
)
from tests.support.servers import Server, postgres_server, redis_server


@pytest.fixture(scope="session")
def a_redis(no_network: None) -> Iterator[Server]:
    with redis_server() as server:
        yield server


@pytest.fixture(scope="session")
def a_postgres(no_network: None) -> Iterator[Server]:
    with postgres_server() as server:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            for _ in range(2):  # a second time changes nothing
                for file in sorted(MIGRATIONS.glob("*.sql")):
                    connection.execute(file.read_bytes())
        yield server


@pytest.fixture
def redis_shelf(a_redis: Server, tmp_path: Path) -> Iterator[RedisShelf]:
    shelf = RedisShelf(a_redis.dsn(), tmp_path / "bundles")
    yield shelf
    shelf.client.close()


@pytest.fixture
def pgsql_shelf(a_postgres: Server) -> Iterator[PgsqlShelf]:
    shelf = PgsqlShelf(a_postgres.dsn())
    yield shelf
    shelf.connection.close()


@pytest.fixture(params=["filesystem", "in-memory", "packages", "redis", "pgsql"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Shelf:
    match request.param:
        case "filesystem":
            return FilesShelf(tmp_path / "files")
        case "in-memory":
            return MemoryShelf()
        case "packages":
            return PackagesShelf(tmp_path / "site")
        case "redis":
            return request.getfixturevalue("redis_shelf")
        case _:
            return request.getfixturevalue("pgsql_shelf")
