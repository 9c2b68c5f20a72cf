"""The inbox: messages to runs that outlive the process that sent them and the one that should read them.

Knows nothing of run directories: a run has ended when its worker closes the inbox.
"""

from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.ledger.database import Database
from skills_runtime.ports import Clock, Ids, InboxClosed, InboxKind, InboxMessage, KeyTaken
from skills_runtime.runs import check_id

BODY_BYTES = 1_048_576
KEY_LENGTH = 256
_KINDS = get_args(InboxKind)


class SqliteInbox:
    """Messages in the ledger file; sent and acknowledged ones are on stable storage before the call returns.

    Closing an inbox need not survive a power loss: the log tells whether the run has ended.
    """

    def __init__(self, database: Database, closing: Database, *, clock: Clock, ids: Ids) -> None:
        self._database = database
        self._closing = closing
        self._clock = clock
        self._ids = ids

    def send(
        self, run_id: str, kind: InboxKind, body: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> InboxMessage:
        """Store a message; the same key returns the message stored before."""
        check_id(run_id, "run")
        if kind not in _KINDS:
            raise ValidationFailed(f"`{kind}` is not a kind of message", hint=f"use one of: {', '.join(_KINDS)}")
        _check_key(idempotency_key)
        encoded = _encode_body(body)
        with self._database.transaction():
            stored = self._database.run("message_by_key", run_id=run_id, idempotency_key=idempotency_key)
            if stored:
                _check_same_message(stored[0], kind, encoded)
                return _message(stored[0])
            if self._database.run("closed_inbox", run_id=run_id):
                raise InboxClosed(f"the run `{run_id}` has ended and takes no more messages")
            added = self._database.run(
                "add_message",
                run_id=run_id,
                id=self._ids.new("msg"),
                kind=kind,
                body=encoded,
                idempotency_key=idempotency_key,
                created_at=self._clock.now(),
            )
            return _message(added[0])

    def pending(self, run_id: str) -> tuple[InboxMessage, ...]:
        """Return the messages not acknowledged yet, in order."""
        return self._messages("pending_messages", run_id=check_id(run_id, "run"))

    def after(self, run_id: str, position: int) -> tuple[InboxMessage, ...]:
        """Return the messages after a position, acknowledged or not, in order."""
        return self._messages("messages_after", run_id=check_id(run_id, "run"), position=position)

    def unacknowledged_count(self, run_id: str) -> int:
        """Count the messages not acknowledged yet."""
        return self._database.run("count_pending", run_id=check_id(run_id, "run"))[0]["messages"]

    def acknowledge(self, message_id: str, *, event_seq: int) -> None:
        """Mark a message as recorded in the run's log; repeating it has no effect."""
        if event_seq < 0:
            raise ValidationFailed(f"`{event_seq}` is not the seq of an event", hint="give the seq the log returned")
        with self._database.transaction():
            receipts = self._database.run("message_receipt", id=message_id)
            if not receipts:
                raise NotFound(f"no message `{message_id}` is known", hint="acknowledge the `id` of a pending message")
            recorded_seq = receipts[0]["event_seq"]
            if recorded_seq is None:
                self._database.run(
                    "acknowledge_message", id=message_id, event_seq=event_seq, acknowledged_at=self._clock.now()
                )
            elif recorded_seq != event_seq:
                raise ValidationFailed(
                    f"message `{message_id}` was acknowledged by event {recorded_seq}, not {event_seq}",
                    hint="a message is recorded by one event only; read the log again",
                )

    def close_for(self, run_id: str, *, unless_behind: int | None = None) -> tuple[InboxMessage, ...]:
        """Return the pending messages and close the inbox, unless one of them is after `unless_behind`."""
        check_id(run_id, "run")
        with self._closing.transaction():
            waiting = tuple(map(_message, self._closing.run("pending_messages", run_id=run_id)))
            if unless_behind is None or all(message.position <= unless_behind for message in waiting):
                self._closing.run("close_inbox", run_id=run_id, closed_at=self._clock.now())
            return waiting

    def open_for(self, run_id: str) -> None:
        """Open the inbox again; writes nothing when it is open already."""
        if self._closing.run("closed_inbox", run_id=check_id(run_id, "run")):
            self._closing.run("open_inbox", run_id=run_id)

    def version(self) -> int:
        """Return a number that changes whenever another connection writes; cheap enough to poll."""
        return self._database.version()

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def _messages(self, query: str, **parameters: str | int) -> tuple[InboxMessage, ...]:
        return tuple(_message(row) for row in self._database.run(query, **parameters))


def _message(row: Mapping[str, Any]) -> InboxMessage:
    return InboxMessage(
        id=row["id"],
        run_id=row["run_id"],
        position=row["position"],
        kind=row["kind"],
        body=msgspec.json.decode(row["body"]),
        created_at=row["created_at"],
    )


def _encode_body(body: Mapping[str, Any]) -> bytes:
    """Encode the body canonically, so that equal messages are equal bytes."""
    try:
        plain = dict(body)
        encoded = msgspec.json.encode(plain, order="sorted")
        same = msgspec.json.decode(encoded) == plain
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        same, encoded = False, b""
    if not same:
        raise ValidationFailed(
            "the body of a message must be JSON data",
            hint="use objects, lists, text, finite numbers, booleans and null",
        )
    if len(encoded) > BODY_BYTES:
        raise ValidationFailed(
            f"the body of a message has {len(encoded)} bytes", hint=f"send at most {BODY_BYTES} bytes"
        )
    return encoded


def _check_key(key: str | None) -> None:
    if key is not None and not 1 <= len(key) <= KEY_LENGTH:
        raise ValidationFailed(
            f"an idempotency key has {len(key)} characters", hint=f"use 1 to {KEY_LENGTH} characters"
        )


def _check_same_message(stored: Mapping[str, Any], kind: str, encoded: bytes) -> None:
    if (stored["kind"], stored["body"]) != (kind, encoded):
        raise KeyTaken(
            f"idempotency key `{stored['idempotency_key']}` was used for another message",
            hint="use a new key for a new message",
        )
