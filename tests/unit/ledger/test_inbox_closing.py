"""What only the durable inbox promises to a run that ends: other processes, sudden death, older files, its price."""

import subprocess
import sys
from pathlib import Path

import pytest

from skills_runtime.ports.people import InboxClosed
from tests.unit.ledger.samples import noted_connections, open_at

RUN = "run_1"
SENDER = """
import sys
from pathlib import Path
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.errors import LogLocked
from skills_runtime.ledger import open_ledger
from skills_runtime.ports.people import InboxClosed
with open_ledger(Path(sys.argv[1]), clock=SystemClock(), ids=RandomIds()) as ledger:
    number = 0
    while True:
        try:
            print(ledger.inbox.send("run_1", "steer", {"n": number}).id, flush=True)
            number += 1
        except LogLocked:  # the others were quicker for seconds; nothing was sent
            continue
        except InboxClosed:
            print("refused", flush=True)
            break
"""


@pytest.mark.slow
def test_messages_from_processes_during_the_end_are_received_and_then_refused(state_home: Path) -> None:
    open_at(state_home).close()
    command = [sys.executable, "-c", SENDER, str(state_home)]
    senders = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    with open_at(state_home) as ledger:
        accepted = [_first_line(sender) for sender in senders]
        messages = [message.id for message in ledger.inbox.close_for(RUN)]
    for sender in senders:
        *sent, last = sender.communicate()[0].split()
        assert (last, sender.returncode) == ("refused", 0)
        accepted += sent
    assert sorted(accepted) == sorted(messages)
    with open_at(state_home) as ledger:
        assert [message.id for message in ledger.inbox.after(RUN, 0)] == messages


def _first_line(sender: subprocess.Popen[str]) -> str:
    assert sender.stdout is not None
    return sender.stdout.readline().strip()


def test_another_open_ledger_is_refused(state_home: Path) -> None:
    with open_at(state_home) as ledger, open_at(state_home) as other:
        ledger.inbox.close_for(RUN, unless_behind=0)
        with pytest.raises(InboxClosed):
            other.inbox.send(RUN, "steer", {})
        other.inbox.open_for(RUN)
        assert ledger.inbox.send(RUN, "steer", {}).position == 1


def test_a_closed_inbox_is_closed_after_reopening(state_home: Path) -> None:
    with open_at(state_home) as ledger:
        ledger.inbox.close_for(RUN, unless_behind=0)
    with open_at(state_home) as ledger, pytest.raises(InboxClosed):
        ledger.inbox.send(RUN, "steer", {})


def test_closing_writes_once_and_opening_what_is_open_writes_nothing(
    state_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = noted_connections(monkeypatch)
    with open_at(state_home) as ledger:
        (_, quick), texts = connections, list[str]()
        assert quick.execute("PRAGMA synchronous").fetchone()[0] == 1  # it need not wait for the disk
        quick.set_trace_callback(texts.append)
        ledger.inbox.open_for(RUN)
        assert [text.split()[0] for text in texts] == ["SELECT"]
        texts.clear()
        ledger.inbox.close_for(RUN, unless_behind=0)
        assert [text.split()[0] for text in texts] == ["BEGIN", "SELECT", "INSERT", "COMMIT"]
        texts.clear()
        ledger.inbox.open_for(RUN)
        assert [text.split()[0] for text in texts] == ["SELECT", "DELETE"]
