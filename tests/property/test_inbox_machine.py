"""The durable inbox against a model of it, over sends, repeats, receipts, closing, crashes and reopening."""

import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.errors import ValidationFailed
from skills_runtime.ledger import Ledger, SqliteInbox, open_ledger
from skills_runtime.ports import InboxKind, InboxMessage
from skills_runtime.ports.people import InboxClosed
from tests.support.examples import examples

RUNS = ("run_1", "run_2")
runs = st.sampled_from(RUNS)
doors = st.integers(0, 1)
kinds: st.SearchStrategy[InboxKind] = st.sampled_from(("steer", "answer", "approve", "cancel"))
bodies = st.dictionaries(
    st.text(max_size=3), st.none() | st.booleans() | st.integers() | st.text(max_size=5), max_size=3
)
picks = st.integers(0, 1_000_000)


class InboxMachine(RuleBasedStateMachine):
    """Two open ledgers on one file, as two processes would have, and what should be in it."""

    @initialize()
    def start(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="inbox-"))
        self.messages: dict[str, list[InboxMessage]] = {run_id: [] for run_id in RUNS}
        self.keys: dict[tuple[str, str], InboxMessage] = {}
        self.receipts: dict[str, int] = {}
        self.closed: set[str] = set()
        self.open = [self._open(), self._open()]

    def _open(self) -> Ledger:
        return open_ledger(self.home, clock=SystemClock(), ids=RandomIds())

    def _inbox(self, door: int) -> SqliteInbox:
        return self.open[door].inbox

    def _any_message(self, pick: int) -> InboxMessage:
        messages = [message for run_id in RUNS for message in self.messages[run_id]]
        return messages[pick % len(messages)]

    @rule(door=doors, run_id=runs, kind=kinds, body=bodies)
    def send(self, door: int, run_id: str, kind: InboxKind, body: dict[str, Any]) -> None:
        self._send(door, run_id, kind, body)

    def _send(
        self, door: int, run_id: str, kind: InboxKind, body: dict[str, Any], key: str | None = None
    ) -> InboxMessage | None:
        if run_id in self.closed:
            with pytest.raises(InboxClosed):
                self._inbox(door).send(run_id, kind, body, idempotency_key=key)
            return None
        message = self._inbox(door).send(run_id, kind, body, idempotency_key=key)
        self._keep(message, kind, body)
        return message

    @rule(door=doors, run_id=runs, kind=kinds, body=bodies, key=st.sampled_from("abc"))
    def send_with_key(self, door: int, run_id: str, kind: InboxKind, body: dict[str, Any], key: str) -> None:
        known = self.keys.get((run_id, key))
        if known is None:
            if (message := self._send(door, run_id, kind, body, key)) is not None:
                self.keys[run_id, key] = message
        elif (known.kind, repr(sorted(known.body.items()))) == (kind, repr(sorted(body.items()))):
            assert self._inbox(door).send(run_id, kind, body, idempotency_key=key) == known
        else:
            with pytest.raises(ValidationFailed):
                self._inbox(door).send(run_id, kind, body, idempotency_key=key)

    def _keep(self, message: InboxMessage, kind: InboxKind, body: dict[str, Any]) -> None:
        queue = self.messages[message.run_id]
        assert (message.position, message.kind, message.body) == (len(queue) + 1, kind, body)
        queue.append(message)

    @precondition(lambda self: self.keys)
    @rule(door=doors, pick=picks)
    def send_again(self, door: int, pick: int) -> None:
        (run_id, key), message = list(self.keys.items())[pick % len(self.keys)]
        assert self._inbox(door).send(run_id, message.kind, message.body, idempotency_key=key) == message

    @precondition(lambda self: any(self.messages.values()))
    @rule(door=doors, pick=picks, seq=st.integers(0, 3))
    def acknowledge(self, door: int, pick: int, seq: int) -> None:
        message = self._any_message(pick)
        if self.receipts.setdefault(message.id, seq) == seq:
            self._inbox(door).acknowledge(message.id, event_seq=seq)
        else:
            with pytest.raises(ValidationFailed):
                self._inbox(door).acknowledge(message.id, event_seq=seq)

    @rule(door=doors, run_id=runs, behind=st.integers(0, 2))
    def close(self, door: int, run_id: str, behind: int) -> None:
        """A run looks for the last time; it knows all messages but the last few."""
        count = max(0, len(self.messages[run_id]) - behind)
        waiting = self._waiting(run_id)
        assert list(self._inbox(door).close_for(run_id, unless_behind=count)) == waiting
        if all(message.position <= count for message in waiting):
            self.closed.add(run_id)

    @rule(door=doors, run_id=runs)
    def close_in_any_case(self, door: int, run_id: str) -> None:
        assert list(self._inbox(door).close_for(run_id)) == self._waiting(run_id)
        self.closed.add(run_id)

    @rule(door=doors, run_id=runs)
    def work_again(self, door: int, run_id: str) -> None:
        self._inbox(door).open_for(run_id)
        self.closed.discard(run_id)

    @rule(door=doors)
    def reopen(self, door: int) -> None:
        self.open[door].close()
        self.open[door] = self._open()

    @rule()
    def reopen_all(self) -> None:
        for ledger in self.open:
            ledger.close()
        self.open = [self._open(), self._open()]

    @rule(run_id=runs)
    def die_before_the_commit(self, run_id: str) -> None:
        with closing(sqlite3.connect(self.home / "ledger.db", isolation_level=None)) as dying:
            dying.execute("BEGIN IMMEDIATE")
            dying.execute("UPDATE inbox SET event_seq = 77")
            dying.execute(
                "INSERT INTO inbox VALUES (?, 999, 'lost', 'steer', x'7b7d', NULL, 'now', NULL, NULL)", [run_id]
            )
            dying.execute("DELETE FROM closed_inboxes")
            dying.execute("INSERT INTO closed_inboxes SELECT value, 'now' FROM json_each(?)", ['["run_1", "run_2"]'])

    def _waiting(self, run_id: str) -> list[InboxMessage]:
        return [message for message in self.messages[run_id] if message.id not in self.receipts]

    @invariant()
    def both_doors_show_what_was_sent(self) -> None:
        for ledger in self.open:
            for run_id in RUNS:
                waiting = self._waiting(run_id)
                assert list(ledger.inbox.after(run_id, 0)) == self.messages[run_id]
                assert list(ledger.inbox.pending(run_id)) == waiting
                assert ledger.inbox.unacknowledged_count(run_id) == len(waiting)

    def teardown(self) -> None:
        for ledger in getattr(self, "open", []):
            ledger.close()
        shutil.rmtree(getattr(self, "home", "nowhere"), ignore_errors=True)


InboxMachine.TestCase.settings = settings(max_examples=examples(40), stateful_step_count=25)
TestInbox = InboxMachine.TestCase
