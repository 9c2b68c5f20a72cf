"""Redis as a source: what may be wrong with a server or with a row, and what it costs."""

import gc
from pathlib import Path
from typing import Any

import pytest
import redis

from skills_runtime.skills import SkillError
from skills_runtime.skills.sources.bundles import Bundles
from skills_runtime.skills.sources.redis import BATCH, RedisSource, connection_to
from skills_runtime.skills.sources.stored import Dsn, adapt_client
from tests.contract.skill_sources.shelves import PREFIX, Published, RedisShelf, origin
from tests.support.servers import Server, counted, free_port


def source_at(dsn: str, *, prefix: str = PREFIX) -> RedisSource:
    address = Dsn("REDIS_URL", dsn)
    return RedisSource(
        origin("web"), connection_to(address), key_prefix=prefix, bundles=Bundles(Path("unused")), dsn=address
    )


def test_listing_many_skills_takes_a_few_round_trips(redis_shelf: RedisShelf, a_redis: Server) -> None:
    pipeline = redis_shelf.client.pipeline()
    for number in range(4 * BATCH):
        row = {"skill_name": f"skill-{number}", "description": "Is one.", "created_at": "now"}
        pipeline.hset(f"{PREFIX}meta:web:skill-{number}", mapping=row)
    pipeline.execute()
    with counted(a_redis.port) as trips:
        source = source_at(a_redis.dsn(port=trips.port))
        assert len(source.skills().skills) == 4 * BATCH
        assert trips.total < 100
        del source
        gc.collect()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"description": ""}, "description"),
        ({"created_at": ""}, "created_at"),
        ({"skill_name": "other"}, "its key says"),
        ({"metadata": "{"}, "`metadata` is not JSON"),
        ({"metadata": "[]"}, "`metadata` is not an object"),
        ({"metadata": "[" * 5000}, "metadata"),
        ({"metadata": '{"a":' * 60 + "1" + "}" * 60}, "nested"),
        ({"metadata": '{"a": "' + "x" * 70_000 + '"}'}, "longer than"),
        ({"required_env_vars": '["A B"]'}, "required_env_vars"),
        ({"required_env_vars": '{"a": 1}'}, "required_env_vars"),
        ({"body_size": "many"}, "body_size"),
    ],
)
def test_a_broken_row_is_reported_by_name_and_hides_no_other(
    fields: dict[str, str], said: str, redis_shelf: RedisShelf
) -> None:
    redis_shelf.publish(Published(name="good"))
    redis_shelf.publish(Published(name="broken"), **fields)
    report = redis_shelf.source().skills()
    assert [skill.name for skill in report.skills] == ["good"]
    (problem,) = report.problems
    assert (problem.code, problem.severity) == ("SKILL_SCAN_METADATA_INVALID", "error")
    assert said in problem.message
    assert "broken" in problem.locator


def test_a_key_that_is_no_hash_and_bytes_that_are_no_text_are_reported(redis_shelf: RedisShelf) -> None:
    redis_shelf.client.set(f"{PREFIX}meta:web:text", "x")
    redis_shelf.client.hset(f"{PREFIX}meta:web:".encode() + b"\xff\xfe", mapping={"skill_name": "x"})
    redis_shelf.publish(Published(name="good"))
    report = redis_shelf.source().skills()
    assert [skill.name for skill in report.skills] == ["good"]
    assert sorted(problem.message.split(": ")[1] for problem in report.problems) == [
        "its key does not hold a hash",
        "its key is not UTF-8",
    ]


def test_numbers_in_metadata_are_text_as_in_front_matter(redis_shelf: RedisShelf) -> None:
    redis_shelf.publish(Published(name="one", metadata={"a": 1, "b": [True, None, 1.5], "c": {"d": "e"}}))
    (skill,) = redis_shelf.source().skills().skills
    assert skill.metadata == {"a": "1", "b": ["true", "null", "1.5"], "c": {"d": "e"}}


def test_signs_of_patterns_in_a_prefix_mean_themselves(redis_shelf: RedisShelf, a_redis: Server) -> None:
    redis_shelf.publish(Published(name="other"))
    row = {"skill_name": "mine", "description": "Is mine.", "created_at": "now"}
    redis_shelf.client.hset("s*[a]?:meta:web:mine", mapping=row)
    assert [one.name for one in source_at(a_redis.dsn(), prefix="s*[a]?:").skills().skills] == ["mine"]
    assert source_at(a_redis.dsn(), prefix="*").skills().skills == ()


def test_a_text_may_be_under_a_key_of_its_own(redis_shelf: RedisShelf) -> None:
    redis_shelf.publish(Published(name="one"), body_key="elsewhere")
    redis_shelf.client.set("elsewhere", "From there.\n")
    source = redis_shelf.source()
    (skill,) = source.skills().skills
    assert source.body(skill) == "From there.\n"


@pytest.mark.parametrize(("stored", "code"), [(b"\xff", "SKILL_BODY_READ_FAILED"), (None, "SKILL_BODY_READ_FAILED")])
def test_a_text_that_cannot_be_read_is_reported(stored: bytes | None, code: str, redis_shelf: RedisShelf) -> None:
    redis_shelf.publish(Published(name="one"))
    key = f"{PREFIX}body:web:one"
    redis_shelf.client.delete(key)
    if stored is not None:
        redis_shelf.client.set(key, stored)
    source = redis_shelf.source()
    with pytest.raises(SkillError) as caught:
        source.body(source.skills().skills[0])
    assert caught.value.code == code


def test_a_text_that_is_no_string_is_reported(redis_shelf: RedisShelf) -> None:
    redis_shelf.publish(Published(name="one"), body_key=f"{PREFIX}meta:web:one")
    source = redis_shelf.source()
    with pytest.raises(SkillError) as caught:
        source.body(source.skills().skills[0])
    assert caught.value.code == "SKILL_BODY_READ_FAILED"


def test_a_server_that_cannot_be_used_is_reported_without_its_password(a_redis: Server) -> None:
    secret = "hunter2-very-secret"
    wrong = {
        a_redis.dsn(password=secret): "refuses the user or the password",
        f"redis://:{secret}@127.0.0.1:{free_port()}/0": "cannot be reached",
        f"redis://:{secret}@127.0.0.1:not-a-port/0": "address",
        f"nonsense {secret}": "address",
        f"redis://:{secret}/x@127.0.0.1:{free_port()}/0": "",
    }
    for dsn, said in wrong.items():
        report = source_at(dsn).skills()
        (problem,) = report.problems
        assert problem.code == "SKILL_SCAN_SOURCE_UNAVAILABLE"
        assert said in problem.message, dsn
        assert "REDIS_URL" in problem.hint
        assert secret not in repr(problem)


def test_a_connection_that_broke_is_made_anew(redis_shelf: RedisShelf) -> None:
    redis_shelf.publish(Published(name="one"))
    source = redis_shelf.source()
    assert len(source.skills().skills) == 1
    redis_shelf.client.client_kill_filter(skipme=True)
    assert len(source.skills().skills) == 1


@pytest.mark.parametrize("way", ["client", "factory", "text client"])
def test_a_program_may_inject_a_client(way: str, redis_shelf: RedisShelf, a_redis: Server, tmp_path: Path) -> None:
    redis_shelf.publish(Published(name="one", body="Äh.\n"))
    made: list[Any] = []

    def factory() -> Any:
        made.append(redis.Redis.from_url(a_redis.dsn()))  # pyright: ignore[reportUnknownMemberType]
        return made[-1]

    text_client = redis.Redis.from_url(a_redis.dsn(), decode_responses=True)  # pyright: ignore[reportUnknownMemberType]
    given: Any = {"client": redis_shelf.client, "factory": factory, "text client": text_client}[way]
    source = RedisSource(origin("web"), adapt_client(given, "pipeline"), key_prefix=PREFIX, bundles=Bundles(tmp_path))
    (skill,) = source.skills().skills
    assert source.body(skill) == "Äh.\n"
    assert len(made) == (2 if way == "factory" else 0)
    text_client.close()
