"""The SQL of the ledger, read once from the files beside this module and found by name."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def parse_queries(text: str) -> Mapping[str, str]:
    """Statements by the name in the `-- name:` line above each."""
    _, *parts = _NAME.split(text)
    return {name: statement.strip() for name, statement in zip(parts[::2], parts[1::2], strict=True)}


def sql_files() -> Path:
    """The directory of SQL files that ships with this package."""
    return Path(__file__).with_name("sql")


@cache
def queries() -> Mapping[str, str]:
    """Every named statement of `queries.sql`."""
    return parse_queries((sql_files() / "queries.sql").read_text(encoding="utf-8"))
