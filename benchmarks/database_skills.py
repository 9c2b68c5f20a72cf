"""Measure round trips and CPU time of listing ten thousand skills in real Redis and PostgreSQL servers."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import redis

from benchmarks.measure import Number, report
from skills_runtime.skills import Origin, Source
from skills_runtime.skills.sources.bundles import Bundles
from skills_runtime.skills.sources.pgsql import MIGRATIONS, PgsqlSource
from skills_runtime.skills.sources.pgsql import connection_to as pgsql_at
from skills_runtime.skills.sources.redis import RedisSource
from skills_runtime.skills.sources.redis import connection_to as redis_at
from skills_runtime.skills.sources.stored import Dsn
from tests.support.servers import Server, counted, postgres_server, redis_server

SKILLS = 10_000
ORIGIN = Origin("space", "web", "shared")
DESCRIPTION = "Reads text and tables from files. Use it for documents, forms and extraction, number "
METADATA = '{"license": "Apache-2.0", "author": "example", "version": "1.0"}'
MAX_TRIPS = 200
"""A batch that is answered while it is still being sent counts more than once."""
MAX_SECONDS = 3.0


def main() -> None:
    with redis_server() as server:
        _fill_redis(server)
        report_of_redis = _measured(server, "redis", _redis)
    with postgres_server() as server:
        _fill_postgres(server)
        report_of_postgres = _measured(server, "pgsql", _pgsql)
    report(*report_of_redis, *report_of_postgres)


def _redis(dsn: str) -> Source:
    address = Dsn("URL", dsn)
    return RedisSource(ORIGIN, redis_at(address), key_prefix="skills:", bundles=Bundles(Path("unused")), dsn=address)


def _pgsql(dsn: str) -> Source:
    address = Dsn("URL", dsn)
    return PgsqlSource(ORIGIN, pgsql_at(address), table=("agent", "skills_catalog"), dsn=address)


def _measured(server: Server, kind: str, source_at: Callable[[str], Source]) -> list[Number]:
    with counted(server.port) as trips:
        source = source_at(server.dsn(port=trips.port))
        if len(source.skills().skills) != SKILLS:
            raise SystemExit(f"{kind}: not every skill was found")
        asked = trips.total
    direct = source_at(server.dsn())
    start = time.process_time()
    direct.skills()
    seconds = time.process_time() - start
    return [
        Number(f"{kind}: round trips to list {SKILLS:,} skills", asked, "", MAX_TRIPS, "at most"),
        Number(f"{kind}: list {SKILLS:,} skills, CPU", seconds, "s", MAX_SECONDS, "at most"),
    ]


def _fill_redis(server: Server) -> None:
    client: Any = redis.Redis.from_url(server.dsn())  # pyright: ignore[reportUnknownMemberType]
    pipeline = client.pipeline(transaction=False)
    for number in range(SKILLS):
        name = f"skill-{number}"
        row = {"skill_name": name, "description": f"{DESCRIPTION}{number}.", "created_at": "now", "metadata": METADATA}
        pipeline.hset(f"skills:meta:web:{name}", mapping=row)
        pipeline.set(f"skills:body:web:{name}", "Do it.\n" * 100)
    pipeline.execute()
    client.close()


def _fill_postgres(server: Server) -> None:
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        for file in sorted(MIGRATIONS.glob("*.sql")):
            connection.execute(file.read_bytes())
        connection.execute(
            "INSERT INTO agent.skills_catalog (namespace, skill_name, description, body, metadata)"
            " SELECT 'web', 'skill-' || number, %s || number, repeat(%s, 100), %s::jsonb"
            " FROM generate_series(1, %s) AS number",
            (DESCRIPTION, "Do it.\n", METADATA, SKILLS),
        )


if __name__ == "__main__":
    main()
