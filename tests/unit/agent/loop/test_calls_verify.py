"""Tools that can find out what came of a call that was under way when the process died."""

from pathlib import Path

import pytest

from skills_runtime.agent import Agent
from skills_runtime.events import Event
from skills_runtime.ports import ToolContext
from skills_runtime.testing import FakeModel, says
from tests.support.agents import agent_in, calls, payloads_of

RUN_ID = "run_1"


class Killed(BaseException):
    """The process dies."""


class Shop:
    """Orders that somebody outside keeps."""

    def __init__(self) -> None:
        self.orders: list[str] = []

    def agent(self, directory: Path, *, dies: str = "") -> Agent:
        """An agent that orders; `dies` says whether the process ends before or after the order is placed."""

        def die(event: Event) -> None:
            if dies == "before" and event.type == "tool_call_started":
                raise Killed

        agent = agent_in(directory, FakeModel([calls(("order", {"what": "tea"})), says("done")]), hooks=[die])

        def verify(what: str) -> str | None:
            return f"{what} is ordered" if what in self.orders else None

        @agent.tool(verify=verify)
        async def order(what: str) -> str:  # pyright: ignore[reportUnusedFunction]
            """Order something."""
            self.orders.append(what)
            if dies == "after":
                raise Killed
            return f"ordered {what}"

        return agent


@pytest.mark.parametrize(("dies", "output"), [("before", "ordered tea"), ("after", "tea is ordered")])
def test_an_interrupted_call_happens_once_and_its_outcome_is_known(tmp_path: Path, dies: str, output: str) -> None:
    shop = Shop()
    with pytest.raises(Killed):
        shop.agent(tmp_path, dies=dies).run("Go.", run_id=RUN_ID)
    result = shop.agent(tmp_path).run("", run_id=RUN_ID)
    (finished,) = payloads_of(result.wal_locator, "tool_call_finished")
    assert (result.status, finished.result["stdout"], shop.orders) == ("completed", output, ["tea"])


def test_a_call_has_the_same_key_each_time_it_is_made(tmp_path: Path) -> None:
    keys: list[str] = []

    def agent(*, dies: bool) -> Agent:
        agent = agent_in(tmp_path, FakeModel([calls(("pay", {}), ("pay", {})), says("done")]))

        @agent.tool(effect="idempotent")
        async def pay(context: ToolContext) -> str:  # pyright: ignore[reportUnusedFunction]
            """Pay once."""
            keys.append(context.idempotency_key)
            if dies:
                raise Killed
            return "paid"

        return agent

    with pytest.raises(Killed):
        agent(dies=True).run("Go.", run_id=RUN_ID)
    result = agent(dies=False).run("", run_id=RUN_ID)
    first, again, second = keys
    assert first == again != second
    started = payloads_of(result.wal_locator, "tool_call_started")
    assert [payload.idempotency_key for payload in started] == keys
