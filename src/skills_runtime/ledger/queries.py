"""The SQL of the ledger, read once from the files beside this module and found by name."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def parse_queries(text: str) -> Mapping[str, str]:
    """Statements by the name in the `-- name:` line above each."""
    _, *parts = _NAME.split(text)
    return {name: statement.strip() for name, statement in zip(parts[::2], parts[1::2], strict=True)}


def sql_files() -> Traversable:
    """The directory of SQL files that ships with this package."""
    return files("skills_runtime.ledger") / "sql"


@cache
def queries() -> Mapping[str, str]:
    """Every named statement of `queries.sql`."""
    return parse_queries((sql_files() / "queries.sql").read_text(encoding="utf-8"))
