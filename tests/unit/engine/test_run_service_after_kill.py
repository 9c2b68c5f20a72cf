"""An order that was noted when the server was killed, and comes again while the next one looks at what was left."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from skills_runtime.engine.json_store import JsonStore
from skills_runtime.engine.run_service import AcceptedRun
from skills_runtime.ports import ChatRequest, ChatStreamEvent
from tests.support.agents import Streaming
from tests.unit.service.served import serving

ORDERS = 30


async def _for_ever(_: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
    await asyncio.Event().wait()
    yield ChatStreamEvent(type="completed")


async def test_an_order_that_comes_again_during_the_recovery_is_not_forgotten(tmp_path: Path) -> None:
    names = [f"order-{number}" for number in range(ORDERS)]
    async with serving(tmp_path, Streaming(_for_ever)) as service:
        accepted = JsonStore(service.runs.workspace.records / "accepted", AcceptedRun)
        for name in names:
            accepted.add(name, AcceptedRun(name))  # all that a server which was killed at this moment has left
        again = (service.post("/runs", {"prompt": "do it", "run_id": name}, idempotency_key=name) for name in names)
        recovering = asyncio.create_task(service.runs.recover(names))
        answers = await asyncio.gather(*again)
        await recovering
        assert {answer.status_code for answer in answers} == {201}
        assert sorted(name for name, _ in accepted.all()) == sorted(names)


async def test_an_order_that_never_comes_again_is_forgotten(tmp_path: Path) -> None:
    async with serving(tmp_path, Streaming(_for_ever)) as service:
        accepted = JsonStore(service.runs.workspace.records / "accepted", AcceptedRun)
        accepted.add("never", AcceptedRun("never"))
        await service.runs.recover(["never"])
        assert list(accepted.all()) == []
