"""Ending a run that another process works on: told, waited for, and never left half done."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from skills_runtime.agent.run_ports import log_ports
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.engine import RunService, ServiceLimits, StillWorking, Workspace
from skills_runtime.events.payloads import InboxReceived, RunCompleted
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import Ledger, SqliteInbox, open_ledger
from skills_runtime.ports import InboxKind, InboxMessage
from skills_runtime.runs import Run, create_run, finish_run, open_run, read_events
from tests.support.runs import spec_in


class Overheard:
    """The real inbox, and what happens in another process as soon as a message is in it."""

    def __init__(self, inbox: SqliteInbox, run: Run, end: RunCompleted | None = None) -> None:
        self._inbox = inbox
        self._run = run
        self._end = end

    def send(
        self, run_id: str, kind: InboxKind, body: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> InboxMessage:
        message = self._inbox.send(run_id, kind, body, idempotency_key=idempotency_key)
        if self._end is not None:
            finish_run(self._run, self._end)
        self._run.close()
        return message

    def pending(self, run_id: str) -> tuple[InboxMessage, ...]:
        return tuple(self._inbox.pending(run_id))

    def acknowledge(self, message_id: str, *, event_seq: int) -> None:
        self._inbox.acknowledge(message_id, event_seq=event_seq)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "state", clock=SystemClock(), ids=RandomIds()) as opened:
        yield opened


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run that another process holds."""
    create_run(spec_in(tmp_path), log_ports()).close()
    return open_run(next(tmp_path.rglob("events.jsonl")).parent, log_ports())


def service(directory: Path, ledger: Ledger) -> RunService:
    workspace = Workspace(workspace_root=directory, state=directory / "state", for_user=True)
    return RunService(workspace, ledger, limits=ServiceLimits(durable=False))


def overhearing(ledger: Ledger, run: Run, end: RunCompleted | None = None) -> Ledger:
    return replace(ledger, inbox=cast("SqliteInbox", Overheard(ledger.inbox, run, end)))


async def test_a_run_whose_process_has_gone_meanwhile_is_ended_here(tmp_path: Path, ledger: Ledger, run: Run) -> None:
    run_id = run.state.run_id
    ledger.inbox.send(run_id, "steer", {"text": "One more thing"})
    runs = service(tmp_path, overhearing(ledger, run))
    assert (await runs.cancel(str(run.paths.root), "no need", patience=30)).status is RunStatus.CANCELLED
    assert list(ledger.inbox.pending(run_id)) == []
    heard = [event.payload.kind for event in read_events(run.paths) if isinstance(event.payload, InboxReceived)]
    assert heard == ["steer", "cancel"]


async def test_a_run_that_was_faster_is_not_called_cancelled(tmp_path: Path, ledger: Ledger, run: Run) -> None:
    run.change(RunStatus.RUNNING)
    runs = service(tmp_path, overhearing(ledger, run, RunCompleted(final_output="Done.")))
    assert (await runs.cancel(str(run.paths.root), "no need", patience=30)).status is RunStatus.COMPLETED


async def test_a_process_that_does_not_listen_is_waited_for_only_so_long(
    tmp_path: Path, ledger: Ledger, run: Run
) -> None:
    waits: list[str] = []
    with pytest.raises(StillWorking, match="has not within 2 s"):
        await service(tmp_path, ledger).cancel(
            str(run.paths.root), "no need", patience=2, on_wait=lambda: waits.append("waiting")
        )
    run.close()
    assert waits == ["waiting"]
    assert [message.kind for message in ledger.inbox.pending(run.state.run_id)] == ["cancel"]
