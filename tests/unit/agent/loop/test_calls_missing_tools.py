"""Runs that are resumed without a tool they had: what it was doing is not denied."""

from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.events import Event
from skills_runtime.ports import Effect
from skills_runtime.testing import says
from tests.support.agents import Doing, agent_in, calls, payloads_of, succeed

RUN_ID = "run_1"


class Killed(BaseException):
    """The process dies."""


def agent_of(directory: Path, *tools: Any, dies: bool = False) -> Agent:
    def die(event: Event) -> None:
        if dies and event.type == "tool_call_started":
            raise Killed

    agent = agent_in(directory, [calls(("do", {})), says("done")], hooks=[die])
    for tool in tools:
        agent.register_tool(tool)
    return agent


@pytest.mark.parametrize(
    ("effect", "kind", "words"),
    [
        ("effectful", "unknown", "outcome unknown: the runtime stopped during this call"),
        ("idempotent", "unknown", "outcome unknown: the runtime stopped during this call"),
        ("read", "not_found", "there is no tool named `do`"),
    ],
)
def test_an_effect_under_way_is_unknown_although_its_tool_is_gone(
    tmp_path: Path, effect: Effect, kind: str, words: str
) -> None:
    with pytest.raises(Killed):
        agent_of(tmp_path, Doing(succeed, effect=effect), dies=True).run("Go.", run_id=RUN_ID)
    result = agent_of(tmp_path).run("", run_id=RUN_ID)
    (finished,) = payloads_of(result.wal_locator, "tool_call_finished")
    assert (result.status, finished.result["error_kind"], finished.result["stderr"]) == ("completed", kind, words)
