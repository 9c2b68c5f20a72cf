"""Everybody who follows a run gets every event once and in order, wherever they begin and whenever they come."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import pytest

from skills_runtime.ports import ChatRequest, ChatStreamEvent
from skills_runtime.service.streams import log_stream as stream
from skills_runtime.service.streams.sse import EventStream
from skills_runtime.testing import says
from tests.support.agents import Streaming
from tests.unit.service.served import Served, messages_in, serving


class Held:
    """A model that answers when it is told to."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        yield ChatStreamEvent(type="text_delta", text="wait")
        await self.go.wait()
        yield ChatStreamEvent(type="completed", finish_reason="stop")


@pytest.fixture
async def service(tmp_path: Path) -> AsyncGenerator[Served]:
    async with serving(tmp_path, [says("done")]) as running_service:
        yield running_service


async def test_a_stream_is_the_log_and_ends_with_it(service: Served) -> None:
    run_id = await service.begin()
    messages = await service.follow(run_id)
    lines = service.log(run_id)
    assert [message.data for message in messages] == lines
    assert [message.id for message in messages] == list(range(len(lines)))
    assert [message.event for message in messages] == [json.loads(line)["type"] for line in lines]
    assert messages[-1].event == "run_completed"


async def test_a_reconnecting_client_gets_only_new_events(service: Served) -> None:
    run_id = await service.begin()
    messages = await service.follow(run_id)
    for last in range(len(messages) - 1):
        assert await service.follow(run_id, **{"Last-Event-ID": str(last)}) == messages[last + 1 :]
    answer = await service.get(f"/runs/{run_id}/events/stream", params={"after": 2})
    assert messages_in(answer.text) == messages[3:]


async def test_last_event_id_wins_over_the_query(service: Served) -> None:
    run_id = await service.begin()
    messages = await service.follow(run_id)
    options = {"params": {"after": 0}, "headers": {"Last-Event-ID": "3"}}
    answer = await service.get(f"/runs/{run_id}/events/stream", **options)
    assert messages_in(answer.text) == messages[4:]


async def test_a_client_that_has_seen_the_end_must_not_reconnect(service: Served) -> None:
    run_id = await service.begin()
    messages = await service.follow(run_id)
    answer = await service.get(f"/runs/{run_id}/events/stream", headers={"Last-Event-ID": str(messages[-1].id)})
    assert answer.status_code == 204


@pytest.mark.parametrize("last_event_id", ["x", "-1", "1.5", "9" * 40])
async def test_a_number_that_is_invalid_is_refused(service: Served, last_event_id: str) -> None:
    run_id = await service.begin()
    answer = await service.get(f"/runs/{run_id}/events/stream", headers={"Last-Event-ID": last_event_id})
    assert answer.status_code == 400


async def test_a_number_the_log_never_had_is_a_conflict(service: Served) -> None:
    run_id = await service.begin()
    await service.until(run_id, "completed")
    answer = await service.get(f"/runs/{run_id}/events/stream", headers={"Last-Event-ID": "5000"})
    assert answer.status_code == 409


async def test_a_page_has_the_lines_as_they_are_and_says_where_to_continue(service: Served) -> None:
    run_id = await service.begin()
    await service.until(run_id, "completed")
    lines = [json.loads(line) for line in service.log(run_id)]
    seen: list[object] = []
    after = -1
    while True:
        page = (await service.get(f"/runs/{run_id}/events", params={"after": after, "limit": 3})).json()
        seen += page["events"]
        after = page["next_after"]
        if page["ended"]:
            break
    assert seen == lines


async def test_the_page_is_a_stream_for_clients_that_accept_one(service: Served) -> None:
    run_id = await service.begin()
    messages = await service.follow(run_id)
    answer = await service.get(f"/runs/{run_id}/events", headers={"Accept": "text/event-stream"})
    assert messages_in(answer.text) == messages


async def test_many_listeners_share_one_reader(tmp_path: Path) -> None:
    held = Held()
    async with serving(tmp_path, Streaming(held.stream)) as service:
        run_id = await service.begin()
        listeners = [asyncio.create_task(service.follow(run_id)) for _ in range(40)]
        while service.streams.listeners < 40:
            await asyncio.sleep(0.01)
        assert service.streams.readers <= 1
        held.go.set()
        for messages in await asyncio.gather(*listeners):
            assert [message.data for message in messages] == service.log(run_id)
        assert (service.streams.listeners, service.streams.readers) == (0, 0)


async def test_heartbeats_have_no_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.0)
    held = Held()
    async with serving(tmp_path, Streaming(held.stream)) as service:
        run_id = await service.begin()
        async with service.client.stream("GET", f"/api/v1/runs/{run_id}/events/stream") as answer:
            text = ""
            async for piece in answer.aiter_text():
                text += piece
                if ": alive" in text:
                    held.go.set()
        assert [message.data for message in messages_in(text)] == service.log(run_id)
        assert all("id:" not in block for block in text.split("\n\n") if block.startswith(":"))


async def test_a_client_that_leaves_stops_listening(tmp_path: Path) -> None:
    held = Held()
    async with serving(tmp_path, Streaming(held.stream)) as service:
        run_id = await service.begin()
        async with service.client.stream("GET", f"/api/v1/runs/{run_id}/events/stream") as answer:
            await anext(answer.aiter_raw())
            assert service.streams.listeners == 1
        while service.streams.listeners:
            await asyncio.sleep(0.01)
        held.go.set()


async def test_a_client_that_reads_nothing_is_disconnected_and_the_run_continues(tmp_path: Path) -> None:
    async with serving(tmp_path, [says("done")]) as service:
        run_id = await service.begin()
        await service.until(run_id, "completed")
        response = EventStream(service.streams.listen(service.runs.find(run_id)), slow_seconds=0.05)
        sent: list[object] = []

        async def never() -> dict[str, str]:
            await asyncio.Event().wait()
            return {}

        async def send(message: object) -> None:
            sent.append(message)
            if len(sent) > 2:
                await asyncio.Event().wait()

        await asyncio.wait_for(response({"type": "http"}, never, send), timeout=30)
        assert service.streams.listeners == 0
        assert len(sent) == 3


async def test_streams_end_when_the_service_stops(tmp_path: Path) -> None:
    held = Held()
    async with serving(tmp_path, Streaming(held.stream)) as service:
        run_id = await service.begin()
        listener = asyncio.create_task(service.follow(run_id))
        while not service.streams.listeners:
            await asyncio.sleep(0.01)
        await service.streams.close()
        messages = await listener
        assert [message.data for message in messages] == service.log(run_id)[: len(messages)]
        assert await service.follow(run_id) == []


async def test_a_service_that_stops_ends_new_streams_so_that_a_browser_reconnects(service: Served) -> None:
    run_id = await service.begin()
    await service.streams.close()
    answer = await service.get(f"/runs/{run_id}/events/stream")
    assert (answer.status_code, answer.text) == (200, "retry: 1000\n\n")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["connection"] == "close"
