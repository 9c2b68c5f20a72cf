"""Those who wait for news are served in turn, a few at a time, and each gets everything."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from skills_runtime.ports import ChatRequest, ChatStreamEvent
from skills_runtime.service.streams import log_stream as stream
from tests.support.agents import Streaming
from tests.unit.service.served import serving

LISTENERS = 30


class Talking:
    """A model that goes on as long as it is told to."""

    def __init__(self) -> None:
        self.more = asyncio.Event()
        self.enough = False

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        while not self.enough:
            await self.more.wait()
            yield ChatStreamEvent(type="text_delta", text="word " * 2000)  # more than is put together
            await asyncio.sleep(0)
        yield ChatStreamEvent(type="completed", finish_reason="stop")


async def test_everybody_is_served_while_the_log_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "SLICE_SIZE", 2)
    talking = Talking()
    async with serving(tmp_path, Streaming(talking.stream)) as service:
        run_id = await service.begin()
        listeners = [asyncio.create_task(service.follow(run_id)) for _ in range(LISTENERS)]
        while service.streams.listeners < LISTENERS:
            await asyncio.sleep(0.01)
        talking.more.set()
        grown = len(service.log(run_id)) + 40
        while len(service.log(run_id)) < grown:
            await asyncio.sleep(0.01)
        talking.enough = True
        for messages in await asyncio.gather(*listeners):
            assert [message.data for message in messages] == service.log(run_id)
