"""Runs are begun once, on the disk before anybody is told, and listed."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from skills_runtime.testing import says
from tests.unit.service.served import Served, serving


@pytest.fixture
async def service(tmp_path: Path) -> AsyncGenerator[Served]:
    async with serving(tmp_path, [says("done")]) as running_service:
        yield running_service


async def test_a_run_is_started_and_worked_on(service: Served) -> None:
    answer = await service.post("/runs", {"prompt": "say something"})
    assert answer.status_code == 201
    run_id = answer.json()["run_id"]
    assert answer.headers["location"] == f"/api/v1/runs/{run_id}"
    run = await service.until(run_id, "completed")
    assert run["final_output"] == "done"
    assert run["task"] == "say something"


async def test_the_same_key_and_body_are_the_same_run(service: Served) -> None:
    first = await service.post("/runs", {"prompt": "one"}, idempotency_key="k")
    second = await service.post("/runs", {"prompt": "one"}, idempotency_key="k")
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["run_id"] == second.json()["run_id"]
    assert len((await service.get("/runs")).json()["runs"]) == 1


async def test_the_same_key_with_another_body_is_a_conflict(service: Served) -> None:
    await service.post("/runs", {"prompt": "one"}, idempotency_key="k")
    answer = await service.post("/runs", {"prompt": "two"}, idempotency_key="k")
    assert answer.status_code == 409
    assert answer.json()["kind"] == "conflict"


async def test_a_refused_order_frees_its_key(service: Served) -> None:
    too_much = {"prompt": "one", "max_steps": 1_000_000}
    assert (await service.post("/runs", too_much, idempotency_key="k")).status_code == 403
    assert (await service.post("/runs", {"prompt": "one"}, idempotency_key="k")).status_code == 201


async def test_an_id_that_is_taken_is_a_conflict_and_the_run_is_left_alone(service: Served) -> None:
    run_id = await service.begin(run_id="mine")
    await service.until(run_id, "completed")
    log = service.log(run_id)
    answer = await service.post("/runs", {"prompt": "again", "run_id": "mine"})
    assert (answer.status_code, answer.json()["kind"]) == (409, "run_exists")
    assert service.log(run_id) == log


@pytest.mark.parametrize("limit", ["max_steps", "max_wall_time_sec"])
async def test_no_client_gets_more_than_the_operator_allows(service: Served, limit: str) -> None:
    answer = await service.post("/runs", {"prompt": "one", limit: 10_000_000})
    assert (answer.status_code, answer.json()["kind"]) == (403, "permission")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"prompt": ""},
        {"prompt": 5},
        {"prompt": "x", "safety": {"mode": "allow"}},
        {"prompt": "x", "run_id": "../x"},
        {"prompt": "x", "max_steps": 0},
        [],
        "text",
    ],
)
async def test_a_body_that_is_invalid_is_refused(service: Served, body: object) -> None:
    answer = await service.post("/runs", body)
    assert (answer.status_code, answer.json()["kind"]) == (400, "validation")
    assert (await service.get("/runs")).json()["runs"] == []


async def test_a_list_continues_where_its_page_ended(service: Served) -> None:
    begun = [await service.begin(f"task {number}") for number in range(5)]
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await service.get("/runs", params={"limit": 2, **cursor})).json()
        seen += [run["run_id"] for run in page["runs"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == begun[::-1]


async def test_a_list_is_filtered_by_state_session_and_words(service: Served) -> None:
    first = await service.begin("paint the bikeshed", session_id="s1")
    second = await service.begin("count the sheep", session_id="s2")
    for run_id in (first, second):
        await service.until(run_id, "completed")

    async def find_runs(**filters: str) -> list[str]:
        return [run["run_id"] for run in (await service.get("/runs", params=filters)).json()["runs"]]

    assert await find_runs(session_id="s1") == [first]
    assert await find_runs(text="sheep") == [second]
    assert await find_runs(text="sheep", session_id="s1") == []
    assert sorted(await find_runs(status="completed")) == sorted([first, second])
    assert await find_runs(status="failed") == []


async def test_runs_of_another_workspace_are_not_shown(
    service: Served, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with serving(tmp_path_factory.mktemp("other"), [says("done")]) as other:
        run_id = await other.begin("private")
        await other.until(run_id, "completed")
        assert (await service.get("/runs")).json()["runs"] == []
        assert (await service.get(f"/runs/{run_id}")).status_code == 404


@pytest.mark.parametrize("run_id", ["%2e%2e", "..%2f..%2fetc", "a%00b", "no-such-run", "x" * 200])
async def test_an_id_that_names_no_run_is_refused(service: Served, run_id: str) -> None:
    for suffix in ("", "/events", "/events/stream", "/artifacts", "/transcript", "/verify", "/export", "/approvals"):
        answer = await service.get(f"/runs/{run_id}{suffix}")
        assert answer.status_code in (400, 404), suffix


async def test_a_later_run_of_a_session_knows_the_conversation(service: Served) -> None:
    first = await service.begin("remember the word", session_id="talk")
    await service.until(first, "completed")
    second = await service.begin("which word", session_id="talk")
    await service.until(second, "completed")
    assert any('"history_loaded"' in line for line in service.log(second))
