"""Ending a run that another process works on: told, waited for, and never left half done."""

import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.cli.cancelling import StillWorking, cancel_run
from skills_runtime.cli.state import log_ports, this_ledger
from skills_runtime.engine import RunControl
from skills_runtime.errors import LogEnded
from skills_runtime.events.payloads import InboxReceived, RunCompleted
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import Ledger
from skills_runtime.ports import Inbox, InboxKind, InboxMessage
from skills_runtime.runs import Run, RunPaths, finish_run, open_run, read_events
from tests.e2e.cli.models import model_environment, read_until, slow_model
from tests.e2e.cli.programs import TIMEOUT_SECONDS, call, invoke, say, start, write_config

ARGUMENTS = ("run", "Take your time", "--config", "kgent.yaml", "--sandbox", "r", "--json")


def test_a_run_of_another_process_is_cancelled_and_waited_for(tmp_path: Path) -> None:
    with slow_model(tmp_path), start("kgent", *ARGUMENTS, cwd=tmp_path, env=model_environment()) as process:
        read_until(process.stdout, b'"type":"llm_request_started"')
        answer = call("kgent", "runs", "cancel", "r", "--reason", "no need", cwd=tmp_path, env=model_environment())
        types = [json.loads(line)["type"] for line in (tmp_path / "r/events.jsonl").read_text().splitlines()]
        process.communicate(timeout=TIMEOUT_SECONDS)
    assert (answer.code, answer.out) == (0, "the run `r` is cancelled\n"), answer.err
    assert types[-1] == "run_cancelled"
    assert process.returncode == 27


def test_a_message_reaches_a_run_of_another_process(tmp_path: Path) -> None:
    with slow_model(tmp_path), start("kgent", *ARGUMENTS, cwd=tmp_path, env=model_environment()) as process:
        read_until(process.stdout, b'"type":"llm_request_started"')
        answer = call("kgent", "runs", "send", "r", "Hurry up", cwd=tmp_path, env=model_environment())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT_SECONDS)
    assert answer == (0, "message 1 is kept for the run `r`; it is read at the next turn\n", "")


class Overheard:
    """The real inbox, and what happens in another process as soon as a message is in it."""

    def __init__(self, inbox: Inbox, run: Run, end: RunCompleted | None = None) -> None:
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


def overheard(ledger: Ledger, run: Run, end: RunCompleted | None = None) -> RunControl:
    return RunControl(Overheard(ledger.inbox, run, end), log_ports())


@pytest.fixture
def waiting(workspace: Path) -> RunPaths:
    """A run that nobody works on."""
    write_config(workspace, say("", ("ask_human", {"question": "Which?"})))
    assert invoke("run", "x", "--config", "kgent.yaml", "--sandbox", "r", "-q").code == 26
    return RunPaths(workspace / "r")


def test_a_run_whose_process_has_gone_meanwhile_is_ended_here(waiting: RunPaths) -> None:
    with this_ledger() as ledger:
        ledger.inbox.send("r", "steer", {"text": "One more thing"})
        run = open_run(waiting.root, log_ports())
        assert cancel_run(overheard(ledger, run), waiting, log_ports(), "no need").status is RunStatus.CANCELLED
        assert ledger.inbox.pending("r") == ()
    heard = [one.payload.kind for one in read_events(waiting) if isinstance(one.payload, InboxReceived)]
    assert heard == ["steer", "cancel"]


def test_a_run_that_was_faster_is_not_called_cancelled(waiting: RunPaths) -> None:
    with this_ledger() as ledger:
        run = open_run(waiting.root, log_ports())
        run.change(RunStatus.RUNNING)
        with pytest.raises(LogEnded, match="it ended before it could be cancelled"):
            cancel_run(overheard(ledger, run, RunCompleted(final_output="Done.")), waiting, log_ports(), "no need")


def test_a_process_that_does_not_listen_is_waited_for_only_so_long(
    waiting: RunPaths, capsys: pytest.CaptureFixture[str]
) -> None:
    with this_ledger() as ledger:
        run = open_run(waiting.root, log_ports())
        with pytest.raises(StillWorking, match="has not within 2 s"):
            cancel_run(RunControl(ledger.inbox, log_ports()), waiting, log_ports(), "no need", patience=2)
        run.close()
        assert [message.kind for message in ledger.inbox.pending("r")] == ["cancel"]
    assert capsys.readouterr().err == "waiting for the process that works on the run to stop\n"
