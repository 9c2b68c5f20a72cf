"""An inbox in memory for tests: the same answers as the durable one, without a disk."""

import re
import threading
from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.ports import Clock, Ids, InboxClosed, InboxKind, InboxMessage, KeyTaken

_BODY_BYTES = 1_048_576
_KEY = re.compile("[^\ud800-\udfff]{1,256}", re.DOTALL)
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class InMemoryInbox:
    """Ordered, acknowledged and idempotent messages that live as long as the object."""

    def __init__(self, *, clock: Clock | None = None, ids: Ids | None = None) -> None:
        self._clock = clock or SystemClock()
        self._ids = ids or RandomIds()
        self._lock = threading.Lock()
        self._messages: dict[str, list[InboxMessage]] = {}
        self._keys: dict[tuple[str, str], InboxMessage] = {}
        self._receipts: dict[str, int | None] = {}
        self._closed: set[str] = set()

    def send(
        self, run_id: str, kind: InboxKind, body: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> InboxMessage:
        """Store a message; the same key returns the message stored before."""
        _check(_RUN_ID.fullmatch(run_id), f"`{run_id}` is not a legal run id")
        _check(kind in get_args(InboxKind), f"`{kind}` is not a kind of message")
        _check(idempotency_key is None or _KEY.fullmatch(idempotency_key), "an idempotency key has 1 to 256 characters")
        encoded = _encoded(body)
        with self._lock:
            message = self._keys.get((run_id, idempotency_key)) if idempotency_key else None
            if message:
                if message.kind != kind or _encoded(message.body) != encoded:
                    raise KeyTaken(f"idempotency key `{idempotency_key}` was used for another message")
                return _copy(message)
            if run_id in self._closed:
                raise InboxClosed(f"the run `{run_id}` has ended and takes no more messages")
            return _copy(self._add(run_id, kind, encoded, idempotency_key))

    def _add(self, run_id: str, kind: InboxKind, encoded: bytes, key: str | None) -> InboxMessage:
        queue = self._messages.setdefault(run_id, [])
        message = InboxMessage(
            id=self._ids.new("msg"),
            run_id=run_id,
            position=len(queue) + 1,
            kind=kind,
            body=msgspec.json.decode(encoded),
            created_at=self._clock.now(),
        )
        queue.append(message)
        self._receipts[message.id] = None
        if key:
            self._keys[run_id, key] = message
        return message

    def pending(self, run_id: str) -> tuple[InboxMessage, ...]:
        """Messages not acknowledged yet, in order."""
        _check(_RUN_ID.fullmatch(run_id), f"`{run_id}` is not a legal run id")
        with self._lock:
            return self._pending(run_id)

    def _pending(self, run_id: str) -> tuple[InboxMessage, ...]:
        queue = self._messages.get(run_id, ())
        return tuple(_copy(message) for message in queue if self._receipts[message.id] is None)

    def after(self, run_id: str, position: int) -> tuple[InboxMessage, ...]:
        """Messages behind a position, acknowledged or not, in order."""
        _check(_RUN_ID.fullmatch(run_id), f"`{run_id}` is not a legal run id")
        with self._lock:
            return tuple(_copy(message) for message in self._messages.get(run_id, ()) if message.position > position)

    def unacknowledged_count(self, run_id: str) -> int:
        """How many messages wait."""
        return len(self.pending(run_id))

    def acknowledge(self, message_id: str, *, event_seq: int) -> None:
        """Note that the run's log holds the message; harmless when repeated."""
        _check(event_seq >= 0, f"`{event_seq}` is not the seq of an event")
        with self._lock:
            if message_id not in self._receipts:
                raise NotFound(f"no message `{message_id}` is known", hint="acknowledge the `id` of a pending message")
            noted = self._receipts[message_id]
            _check(noted in (None, event_seq), f"message `{message_id}` was acknowledged by event {noted}")
            self._receipts[message_id] = event_seq

    def close_for(self, run_id: str, *, unless_behind: int | None = None) -> tuple[InboxMessage, ...]:
        """Return the unacknowledged messages and close the inbox, unless one is behind a position."""
        _check(_RUN_ID.fullmatch(run_id), f"`{run_id}` is not a legal run id")
        with self._lock:
            waiting = self._pending(run_id)
            if unless_behind is None or all(message.position <= unless_behind for message in waiting):
                self._closed.add(run_id)
            return waiting

    def open_for(self, run_id: str) -> None:
        """Take messages again; harmless when it is open."""
        _check(_RUN_ID.fullmatch(run_id), f"`{run_id}` is not a legal run id")
        with self._lock:
            self._closed.discard(run_id)


def _check(condition: object, complaint: str) -> None:
    if not condition:
        raise ValidationFailed(complaint, hint="the durable inbox refuses it too")


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        plain = dict(body)
        encoded = msgspec.json.encode(plain, order="sorted")
        same = msgspec.json.decode(encoded) == plain
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        same, encoded = False, b""
    _check(same, "the body of a message must be JSON data")
    _check(len(encoded) <= _BODY_BYTES, f"the body of a message has {len(encoded)} bytes, more than {_BODY_BYTES}")
    return encoded


def _copy(message: InboxMessage) -> InboxMessage:
    return msgspec.structs.replace(message, body=msgspec.json.decode(_encoded(message.body)))
