"""Runs an agent, set up as a user does it, against a service that misbehaves."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.result import RunResult
from skills_runtime.events import Event, Payload
from skills_runtime.events.payloads import LlmRetryScheduled, RunCancelled, RunCompleted, RunFailed
from tests.support import model_server
from tests.support.agents import events_of
from tests.support.model_server import Answer

KEY = "sk-very-secret"
PATIENCE_SEC = 30
"""Nothing here takes that long unless it hangs."""

P = TypeVar("P", bound=Payload)


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of a run, as its user, its log and the service saw it."""

    result: RunResult
    events: Sequence[Event]
    requests: Sequence[dict[str, Any]]

    def all(self, kind: type[P]) -> list[P]:
        """The payloads of one type."""
        return [event.payload for event in self.events if isinstance(event.payload, kind)]

    @property
    def retries(self) -> list[str]:
        """The kinds of error that were tried again."""
        return [one.error_kind for one in self.all(LlmRetryScheduled)]

    @property
    def failure(self) -> RunFailed:
        """Why the run failed: its last event, and its only end."""
        (end,) = self.ends
        assert isinstance(end, RunFailed), end
        assert self.result.status == "failed"
        assert (self.result.error_kind, self.result.final_output) == (end.error_kind, end.message)
        return end

    @property
    def answer(self) -> str:
        """The final output of a run that completed: its last event, and its only end."""
        (end,) = self.ends
        assert isinstance(end, RunCompleted), end
        assert (self.result.status, self.result.final_output) == ("completed", end.final_output)
        return end.final_output

    @property
    def ends(self) -> Sequence[Payload]:
        """Every terminal event; there must be one, at the end."""
        ends = [
            event.payload for event in self.events if isinstance(event.payload, RunCompleted | RunFailed | RunCancelled)
        ]
        assert ends[-1:] == [self.events[-1].payload]
        return ends


class Bench:
    """A workspace and a key; each run gets a service with the answers it is given."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = place
        monkeypatch.setenv("MODEL_KEY", KEY)

    async def run(
        self, *answers: Answer, timeout_sec: int = 10, max_retries: int = 1, settings: Mapping[str, Any] | None = None
    ) -> Seen:
        """Run a task to its end."""
        with model_server.start(answers) as server:
            llm = {
                "base_url": server.base_url,
                "api_key_env": "MODEL_KEY",
                "timeout_sec": timeout_sec,
                "retry": {"max_retries": max_retries, "base_delay_sec": 0},
            }
            chosen = {"llm": llm, "safety": {"mode": "allow"}, **(settings or {})}
            agent = Agent(workspace_root=self.place, session_settings=chosen)
            # A run that hangs is cut off by the service, which closes when this gives up.
            result = await asyncio.wait_for(asyncio.to_thread(agent.run, "Go."), PATIENCE_SEC)
        return Seen(result, events_of(result.wal_locator), server.requests)
