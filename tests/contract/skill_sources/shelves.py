"""One place for skills of each kind, filled through its own front door."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec
import psycopg
import redis
from psycopg.types.json import Jsonb

from skills_runtime.skills import FilesystemSource, MemorySource, Origin, Row, Source
from skills_runtime.skills.sources.bundles import Bundles
from skills_runtime.skills.sources.packages import PackagesSource
from skills_runtime.skills.sources.pgsql import PgsqlSource
from skills_runtime.skills.sources.pgsql import connection_to as pgsql_at
from skills_runtime.skills.sources.redis import RedisSource
from skills_runtime.skills.sources.redis import connection_to as redis_at
from skills_runtime.skills.sources.stored import Dsn

NAMESPACE = "web"
PREFIX = "skills:"
TABLE = ("agent", "skills_catalog")


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """A skill as somebody publishes it."""

    name: str
    description: str = "Does things."
    body: str = "Do it.\n"
    variables: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    namespace: str = NAMESPACE


class Shelf(Protocol):
    """A place skills are published to, and the source that reads it."""

    def publish(self, skill: Published) -> None:
        """Put a skill there."""
        ...

    def remove(self, name: str) -> None:
        """Take a skill away."""
        ...

    def source(self, namespace: str = NAMESPACE) -> Source:
        """A source over what is there now."""
        ...


def origin(namespace: str) -> Origin:
    return Origin("space", namespace, "shelf")


class FilesShelf:
    """Directories."""

    def __init__(self, root: Path) -> None:
        self._root = root
        (root / NAMESPACE).mkdir(parents=True)

    def publish(self, skill: Published) -> None:
        write_skill(self._root / skill.namespace.replace(":", "-"), skill)

    def remove(self, name: str) -> None:
        (self._root / NAMESPACE / name / "SKILL.md").unlink()

    def source(self, namespace: str = NAMESPACE) -> Source:
        return FilesystemSource(origin(namespace), self._root / namespace.replace(":", "-"))


class MemoryShelf:
    """Rows that a program registers."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], Row] = {}

    def publish(self, skill: Published) -> None:
        self._rows[skill.namespace, skill.name] = Row(
            skill_name=skill.name,
            description=skill.description,
            body=skill.body,
            required_env_vars=skill.variables,
            metadata=skill.metadata,
        )

    def remove(self, name: str) -> None:
        del self._rows[NAMESPACE, name]

    def source(self, namespace: str = NAMESPACE) -> Source:
        return MemorySource(origin(namespace), [row for (space, _), row in self._rows.items() if space == namespace])


class PackagesShelf:
    """An installed package for each namespace."""

    def __init__(self, site: Path) -> None:
        self._site = site

    def publish(self, skill: Published) -> None:
        package = self._site / self._package(skill.namespace)
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text("raise AssertionError('nobody imports a package to look for skills')")
        write_skill(package / ".agents" / "skills", skill)

    def remove(self, name: str) -> None:
        (self._site / self._package(NAMESPACE) / ".agents" / "skills" / name / "SKILL.md").unlink()

    def source(self, namespace: str = NAMESPACE) -> Source:
        package = self._package(namespace)
        named = [package] if (self._site / package).is_dir() else []
        return PackagesSource(origin(namespace), named, search_path=[str(self._site)])

    @staticmethod
    def _package(namespace: str) -> str:
        return f"about_{namespace.replace(':', '_')}"


class RedisShelf:
    """Hashes and strings of a redis server."""

    def __init__(self, dsn: str, cache: Path) -> None:
        self._dsn = dsn
        self._cache = cache
        self.client: Any = redis.Redis.from_url(dsn)  # pyright: ignore[reportUnknownMemberType]
        self.client.flushall()

    def publish(self, skill: Published, **fields: str) -> None:
        key = f"{skill.namespace}:{skill.name}"
        row = {
            "skill_name": skill.name,
            "description": skill.description,
            "created_at": "2026-01-01T00:00:00Z",
            "body_size": str(len(skill.body.encode())),
            "required_env_vars": json.dumps(skill.variables),
            "metadata": json.dumps(skill.metadata),
            **fields,
        }
        self.client.hset(f"{PREFIX}meta:{key}", mapping=row)
        self.client.set(f"{PREFIX}body:{key}", skill.body)

    def remove(self, name: str) -> None:
        self.client.delete(f"{PREFIX}meta:{NAMESPACE}:{name}", f"{PREFIX}body:{NAMESPACE}:{name}")

    def source(self, namespace: str = NAMESPACE) -> RedisSource:
        dsn = Dsn("REDIS_URL", self._dsn)
        return RedisSource(origin(namespace), redis_at(dsn), key_prefix=PREFIX, bundles=Bundles(self._cache), dsn=dsn)


class PgsqlShelf:
    """Rows of a table."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self.connection = psycopg.connect(dsn, autocommit=True)
        self.connection.execute("TRUNCATE agent.skills_catalog")

    def publish(self, skill: Published) -> None:
        self.connection.execute(
            "INSERT INTO agent.skills_catalog"
            " (namespace, skill_name, description, body, required_env_vars, metadata) VALUES (%s, %s, %s, %s, %s, %s)",
            (
                skill.namespace,
                skill.name,
                skill.description,
                skill.body,
                Jsonb(list(skill.variables)),
                Jsonb(dict(skill.metadata)),
            ),
        )

    def remove(self, name: str) -> None:
        self.connection.execute(
            "UPDATE agent.skills_catalog SET enabled = false WHERE namespace = %s AND skill_name = %s",
            (NAMESPACE, name),
        )

    def source(self, namespace: str = NAMESPACE) -> PgsqlSource:
        dsn = Dsn("PG_URL", self._dsn)
        return PgsqlSource(origin(namespace), pgsql_at(dsn), table=TABLE, dsn=dsn)


def write_skill(root: Path, skill: Published) -> None:
    """A skill as a directory; JSON is YAML."""
    front = {"name": skill.name, "description": skill.description, **skill.metadata}
    directory = root / skill.name
    directory.mkdir(parents=True)
    text = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in front.items())
    (directory / "SKILL.md").write_text(f"---\n{text}\n---\n{skill.body}", encoding="utf-8")
    if skill.variables:
        needs = {"dependencies": {"tools": [{"type": "env_var", "value": name} for name in skill.variables]}}
        (directory / "agents").mkdir()
        (directory / "agents" / "openai.yaml").write_text(json.dumps(needs))
