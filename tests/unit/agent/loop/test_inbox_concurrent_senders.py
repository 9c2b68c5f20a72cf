"""Many who speak to a run while it ends, processes that are killed there, and what being heard costs."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent.run_ports import log_ports
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.engine import RunControl
from skills_runtime.errors import LogEnded
from skills_runtime.ledger import Ledger, open_ledger
from skills_runtime.ledger.database import Database
from skills_runtime.ports import ChatRequest, ChatStreamEvent
from skills_runtime.runs import RunPaths, read_view, runs_root, verify_run
from skills_runtime.testing import FakeModel, says
from tests.support.agents import Streaming, agent_in, events_of, payloads_of

RUN_ID = "run_1"
ROUNDS, SENDERS, MESSAGES = 12, 3, 12
KILLED = """
import os, signal, sys
from pathlib import Path
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.ledger import open_ledger
from skills_runtime.testing import says
from tests.support.agents import agent_in

def die(event):
    if event.type == "artifact_manifest_written":
        os.kill(os.getpid(), signal.SIGKILL)

place = Path(sys.argv[1])
with open_ledger(place / "ledger", clock=SystemClock(), ids=RandomIds()) as ledger:
    agent_in(place / "workspace", [says("a draft")], inbox=ledger.inbox, hooks=[die]).run("Go.", run_id="run_1")
"""


def _ledger(directory: Path) -> Ledger:
    return open_ledger(directory / "ledger", clock=SystemClock(), ids=RandomIds())


def _paths(workspace: Path) -> RunPaths:
    return RunPaths(runs_root(workspace) / RUN_ID)


class Talker(threading.Thread):
    """Speaks to a run from a connection of its own until it is refused, or has said everything."""

    def __init__(self, directory: Path, name: str, begin: threading.Event, pauses: random.Random) -> None:
        super().__init__(name=name, daemon=True)
        self._place, self._begin, self._pauses = directory, begin, pauses
        self.accepted: list[str] = []
        self.refused = False

    def run(self) -> None:
        """Speak, sometimes twice with the same key."""
        with _ledger(self._place) as ledger:
            desk, paths = RunControl(ledger.inbox, log_ports()), _paths(self._place / "workspace")
            self._begin.wait()
            try:
                for number in range(MESSAGES):
                    for _ in range(self._pauses.choice((1, 1, 2))):
                        self._say(desk, paths, f"{self.name} {number}")
            except LogEnded:
                self.refused = True

    def _say(self, desk: RunControl, paths: RunPaths, text: str) -> None:
        message = desk.send(paths, text, key=text)
        if message.id not in self.accepted:
            self.accepted.append(message.id)
        threading.Event().wait(self._pauses.choice((0, 0, 0.001, 0.01)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_each_of_many_concurrent_messages_is_received_once_or_refused(tmp_path: Path, seed: int) -> None:
    (tmp_path / "workspace").mkdir()
    begin, chance = threading.Event(), random.Random(seed)
    talkers = [Talker(tmp_path, f"talker {n}", begin, random.Random(chance.random())) for n in range(SENDERS)]
    limit: dict[str, Any] = {"run": {"max_steps": 1_000, "max_tokens": chance.choice((50, 1_000_000))}}

    async def answer(request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        begin.set()
        for event in says("done", usage={"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}).events:
            yield event

    with _ledger(tmp_path) as ledger:
        for talker in talkers:
            talker.start()
        agent = agent_in(tmp_path / "workspace", Streaming(answer), settings=limit, inbox=ledger.inbox)
        result = agent.run("Go.", run_id=RUN_ID)
        for talker in talkers:
            talker.join(60)
        assert ledger.inbox.pending(RUN_ID) == ()
    assert result.status in ("completed", "failed")
    payloads = [payload.message_id for payload in payloads_of(result.wal_locator, "inbox_received")]
    assert sorted(payloads) == sorted(text for talker in talkers for text in talker.accepted)
    assert all(talker.refused or len(talker.accepted) == MESSAGES for talker in talkers)
    assert verify_run(Path(result.wal_locator).parent, log_ports().keys).findings == []


@pytest.mark.slow
def test_a_message_to_a_run_killed_right_before_its_end_is_received(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "workspace").mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = Path(__file__).parents[4]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        check=False,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert killed.returncode == -signal.SIGKILL
    paths = _paths(tmp_path / "workspace")
    assert read_view(paths, log_ports()).state.open
    assert events_of(str(paths.events))[-1].type == "artifact_manifest_written"
    watched = FakeModel([says("a draft"), says("short")])
    with _ledger(tmp_path) as ledger:
        RunControl(ledger.inbox, log_ports()).send(paths, "shorter please")
        result = agent_in(tmp_path / "workspace", watched, inbox=ledger.inbox).run("", run_id=RUN_ID)
        assert ledger.inbox.pending(RUN_ID) == ()
    assert (result.status, result.final_output) == ("completed", "short")


def test_a_run_without_messages_reads_its_inbox_once_more_and_writes_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[str] = []
    run = Database.run

    def noted(self: Database, query: str, **parameters: Any) -> list[dict[str, Any]]:
        requests.append(query)
        return run(self, query, **parameters)

    (tmp_path / "workspace").mkdir()
    with _ledger(tmp_path) as ledger:
        monkeypatch.setattr(Database, "run", noted)
        agent_in(tmp_path / "workspace", [says("done")], inbox=ledger.inbox).run("Go.", run_id=RUN_ID)
    looks = ["pending_messages"] * 3  # before the answer, behind it, and at the end
    assert requests == ["closed_inbox", *looks, "close_inbox"]
