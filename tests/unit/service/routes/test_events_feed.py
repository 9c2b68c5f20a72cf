"""Everybody who follows the feed is told of every run that changes, from the greeting on."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

from skills_runtime.service.streams.feed import MAX_QUEUED, Reader, RunSnapshot, changes
from skills_runtime.testing import says
from tests.support.agents import calls, writes
from tests.unit.service.served import Served, serving

ASKING = [calls(writes("a.txt", "x")), says("done")]


async def follow_feed(service: Served) -> AsyncGenerator[tuple[str, dict[str, object]]]:
    async with service.client.stream("GET", "/api/v1/feed") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        event = ""
        async for line in stream.aiter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                event = value
            elif name == "data":
                yield event, json.loads(value)


async def test_the_feed_reports_runs_and_pending_approvals(tmp_path: Path) -> None:
    async with serving(tmp_path, ASKING, safety={"mode": "ask"}) as service:
        feed = follow_feed(service)
        assert (await anext(feed))[0] == "hello"
        run_id = await service.begin()
        seen: list[tuple[str, object]] = []
        while ("approval_changed", 1) not in seen:
            event, data = await anext(feed)
            assert data["run_id"] == run_id
            seen.append((event, data.get("pending", data.get("status"))))
        assert ("run_changed", "waiting_for_user") in seen
        await feed.aclose()


def test_only_what_changed_is_reported() -> None:
    before = {
        "a": RunSnapshot("running", 3, 0),
        "b": RunSnapshot("completed", 9, 0),
        "gone": RunSnapshot("completed", 1, 0),
    }
    now = {
        "a": RunSnapshot("waiting_for_user", 7, 1),
        "b": RunSnapshot("completed", 9, 0),
        "new": RunSnapshot("pending", 0, 0),
    }
    messages = b"".join(changes(before, now)).decode()
    assert messages.count("event: run_changed") == 2
    assert messages.count("event: approval_changed") == 1
    assert '"gone"' not in messages
    assert '"b"' not in messages


async def test_a_client_that_does_not_read_is_disconnected_and_takes_no_memory() -> None:
    reader = Reader()
    for _ in range(MAX_QUEUED + 5):
        reader.send(b"x")
    left: list[bytes | None] = []
    while not reader.queue.empty():
        left.append(await asyncio.wait_for(reader.queue.get(), 1))
    assert left[0] is None
    assert len(left) <= 5
