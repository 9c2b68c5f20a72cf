"""What sources of databases do without a server: addresses that are never told, packages that are missing."""

import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.config.models import SkillsSettings
from skills_runtime.skills import Library, Origin, Source, build_library
from skills_runtime.skills.scan_report import build_issue, to_jsonable
from skills_runtime.skills.sources.bundles import Bundles
from skills_runtime.skills.sources.pgsql import PgsqlSource
from skills_runtime.skills.sources.pgsql import connection_to as pgsql_at
from skills_runtime.skills.sources.redis import RedisSource
from skills_runtime.skills.sources.redis import connection_to as redis_at
from skills_runtime.skills.sources.stored import Dsn

ORIGIN = Origin("space", "web", "shared")
SHAPES = (
    "redis://:{}@host:1/0",
    "postgresql://user:{}@host/db?x=1",
    "host=a password={} user=b",
    "host=a password='{}'",
    "nonsense {}",
)
passwords = st.text(alphabet="abcXYZ019!$%*()_-+.~", min_size=6, max_size=20)


@given(passwords, st.sampled_from(SHAPES))
def test_a_password_is_never_reported(password: str, shape: str) -> None:
    written = quote(password, safe="") if "://" in shape else password
    dsn = Dsn("URL", shape.format(written))
    for said in (f"cannot parse {dsn.text!r}", f"bad {dsn.text}", dsn.text):
        assert password not in dsn.redact(said)
        assert written not in dsn.redact(said)
    assert password not in repr(dsn)


def test_what_a_server_says_is_one_short_line() -> None:
    told = Dsn("URL", "redis://h").redact("a\nb\x1b[31m" + "x" * 1000)
    assert told.startswith("a b")
    assert "\x1b" not in told
    assert len(told) <= 200


def redis_source() -> Source:
    dsn = Dsn("URL", "redis://127.0.0.1:1")
    return RedisSource(ORIGIN, redis_at(dsn), key_prefix="x:", bundles=Bundles(Path("unused")), dsn=dsn)


def pgsql_source() -> Source:
    dsn = Dsn("URL", "postgresql://127.0.0.1:1")
    return PgsqlSource(ORIGIN, pgsql_at(dsn), table=("agent", "skills_catalog"), dsn=dsn)


@pytest.mark.parametrize(("package", "make"), [("redis", redis_source), ("psycopg", pgsql_source)])
def test_a_package_that_is_not_installed_is_reported_with_how_to_get_it(
    package: str, make: "type[Source]", monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == package] + [package, f"{package}.exceptions"]:
        monkeypatch.setitem(sys.modules, name, None)
    (problem,) = make().skills().problems
    assert problem.code == "SKILL_SCAN_SOURCE_UNAVAILABLE"
    assert f"the package `{package}` is not installed" in problem.message


def test_an_unset_address_is_reported_by_the_name_of_its_variable(tmp_path: Path) -> None:
    settings = SkillsSettings.model_validate(
        {
            "spaces": [{"id": "s", "namespace": "web", "sources": ["kv"]}],
            "sources": [{"id": "kv", "type": "redis", "options": {"dsn_env": "KV_URL", "key_prefix": "x:"}}],
        }
    )
    library: Library = build_library(settings, tmp_path, environment={"KV_URL": ""})
    (problem,) = library.problems()
    assert (problem.code, problem.namespace) == ("SKILL_SCAN_SOURCE_UNAVAILABLE", "web")
    assert "KV_URL" in problem.message


def test_anything_becomes_json() -> None:
    loop: dict[object, object] = {"nan": float("nan"), "set": {1}, 2: b"x", "path": Path("a"), "half": "\ud800"}
    loop["self"] = loop
    found = to_jsonable(loop)
    assert found["nan"] == "nan"
    assert found["set"] == [1]
    assert found["2"] == "b'x'"
    assert found["half"] == "\ufffd"
    assert "…" in repr(found["self"])


def test_an_issue_says_where_it_is() -> None:
    (problem,) = redis_source().skills().problems
    issue = build_issue(problem)
    assert issue.details == {"locator": "redis://shared", "namespace": "web"}
