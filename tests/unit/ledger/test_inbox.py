"""What only the durable inbox promises: other processes, sudden death, a full disk, a failed send."""

import resource
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.errors import StorageFailed, ValidationFailed
from skills_runtime.ledger import SqliteInbox, open_ledger
from skills_runtime.ports import InboxMessage
from tests.support.users import Unprivileged
from tests.unit.ledger.samples import dump, open_at

RUN = "run_1"
SENDER = """
import itertools, sys
from pathlib import Path
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.ledger import open_ledger
home, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with open_ledger(home, clock=SystemClock(), ids=RandomIds()) as ledger:
    for number in range(count) if count else itertools.count():
        message = ledger.inbox.send("run_1", "steer", {"from": name, "number": number})
        print(message.id, message.position, flush=True)
"""


def _sender(state_home: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SENDER, str(state_home), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _messages(state_home: Path) -> tuple[InboxMessage, ...]:
    with open_at(state_home) as ledger:
        return ledger.inbox.after(RUN, 0)


@pytest.mark.slow
def test_four_processes_that_send_at_once_lose_nothing_and_share_no_position(state_home: Path) -> None:
    senders = [_sender(state_home, name, 100) for name in "abcd"]
    printed = [line.split() for sender in senders for line in sender.communicate()[0].splitlines()]
    assert [sender.returncode for sender in senders] == [0] * 4
    messages = _messages(state_home)
    assert [message.position for message in messages] == list(range(1, 401))
    assert {(message.id, str(message.position)) for message in messages} == {(text, two) for text, two in printed}
    for name in "abcd":
        numbers = [message.body["number"] for message in messages if message.body["from"] == name]
        assert numbers == list(range(100))


@pytest.mark.slow
def test_a_send_that_returned_survives_the_sudden_death_of_its_process(state_home: Path) -> None:
    returned: set[str] = set()
    for round_number in range(20):
        with _sender(state_home, str(round_number), 0) as sender:
            assert sender.stdout is not None
            with closing(sender.stdout) as lines:
                for _ in range(1 + round_number * 7 % 23):
                    returned.add(lines.readline().split()[0])
                sender.kill()
                returned |= {line.split()[0] for line in lines if line.endswith("\n")}
        messages = _messages(state_home)
        assert returned <= {message.id for message in messages}
        assert [message.position for message in messages] == list(range(1, len(messages) + 1))
        assert len(messages) - len(returned) <= round_number + 1, "one message per death may be stored but not returned"
    dump(state_home)


def test_a_send_that_fails_inside_its_transaction_leaves_nothing(state_home: Path) -> None:
    class BrokenIds:
        def __init__(self) -> None:
            self.broken = True

        def new(self, kind: str) -> str:
            if self.broken:
                raise ValidationFailed("no more ids")
            return RandomIds().new(kind)

    ids = BrokenIds()
    with open_ledger(state_home, clock=SystemClock(), ids=ids) as ledger:
        with pytest.raises(ValidationFailed, match="no more ids"):
            ledger.inbox.send(RUN, "steer", {}, idempotency_key="k")
        ids.broken = False
        assert ledger.inbox.send(RUN, "steer", {}, idempotency_key="k").position == 1


def test_messages_and_receipts_are_there_after_reopening(state_home: Path) -> None:
    with open_at(state_home) as ledger:
        first, second = (ledger.inbox.send(RUN, "approve", {"n": n}, idempotency_key=str(n)) for n in range(2))
        ledger.inbox.acknowledge(first.id, event_seq=5)
    with open_at(state_home) as ledger:
        assert ledger.inbox.pending(RUN) == (second,)
        assert ledger.inbox.send(RUN, "approve", {"n": 0}, idempotency_key="0") == first
        with pytest.raises(ValidationFailed, match="event 5"):
            ledger.inbox.acknowledge(first.id, event_seq=6)


def test_a_message_is_visible_in_every_open_ledger(state_home: Path) -> None:
    with open_at(state_home) as ledger, open_at(state_home) as other:
        message = ledger.inbox.send(RUN, "cancel", {})
        assert other.inbox.pending(RUN) == (message,)
        other.inbox.acknowledge(message.id, event_seq=1)
        assert ledger.inbox.pending(RUN) == ()


def test_an_event_number_without_measure_is_refused(state_home: Path) -> None:
    with open_at(state_home) as ledger:
        message = ledger.inbox.send(RUN, "cancel", {})
        with pytest.raises(ValidationFailed):
            ledger.inbox.acknowledge(message.id, event_seq=2**63)
        assert ledger.inbox.pending(RUN) == (message,)


def test_a_full_disk_is_reported_and_what_was_sent_before_stays(unprivileged: Unprivileged) -> None:
    def work() -> tuple[int, int, int]:
        home = unprivileged.path / "state"
        with open_at(home) as ledger:
            ledger.inbox.send(RUN, "steer", {})
            limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            size = (home / "ledger.db-wal").stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100_000, limits[1]))
            sent = 1 + _sends_until_refused(ledger.inbox)
            count = ledger.inbox.unacknowledged_count(RUN)
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            return sent, count, ledger.inbox.send(RUN, "steer", {}).position

    sent, kept, next_position = unprivileged(work)
    assert 1 < sent < 100
    assert (kept, next_position) == (sent, sent + 1)


def _sends_until_refused(inbox: SqliteInbox) -> int:
    for sent in range(100):
        try:
            inbox.send(RUN, "steer", {"text": "x" * 10_000})
        except StorageFailed:
            return sent
    return 100
