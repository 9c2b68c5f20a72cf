"""The single writer of a log: append writes, commit syncs, and a failing disk stops the log for good.

Invariants: `seq` is contiguous; nothing follows a terminal event; what `commit` acknowledged is on the disk;
a failed write is truncated and a failed sync is never retried. Secrets are redacted in the texts of a payload before it
is written, never in the ids and digests that the log relies on.
"""

import asyncio
import itertools
import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, cast

import msgspec

from skills_runtime.clock import SystemClock
from skills_runtime.errors import LogEnded, StorageFailed
from skills_runtime.events import (
    PAYLOAD_TYPES,
    TERMINAL_TYPES,
    ArtifactManifestWritten,
    Event,
    LlmRequestStarted,
    LlmResponseFinished,
    Payload,
    ToolCallStarted,
    data_of,
    decode_payload,
    encode_payload,
)
from skills_runtime.ports import Clock, Disk, Secrets, ToolResult
from skills_runtime.runs.log.chain import MAX_LINE_BYTES, Chain, Position, prefix_digest
from skills_runtime.runs.log.checkpoints import CHECKPOINT_INTERVAL_BYTES, Checkpoints
from skills_runtime.runs.log.commit import LogFlush, SystemDisk, get_committer
from skills_runtime.runs.log.keys import KeyRing, LogKey

Listener = Callable[[Event], None]
Entry = tuple[Payload, str | None, str | None]
"""Payload, turn id and step id."""

UNREDACTED_FIELDS = frozenset(
    {
        "after", "approval_id", "approval_key", "before", "call_id", "child_run_id", "decision", "delta_type", "effect",
        "error_kind", "finish_reason", "fork", "idempotency_key", "key_id", "kind", "level", "manifest", "media_type",
        "message_id", "model", "name", "op", "profile_id", "request_id", "root", "run_id", "schema", "sent_at",
        "session_id", "snapshots", "status", "task_id", "tool", "touch", "type", "wal_locator", "workspace_root",
    }
)  # fmt: skip
"""Fields that programs read (ids, kinds, paths), which are never redacted."""
UNREDACTED_SUFFIXES = ("blob", "sha256", "_at", "fingerprint")
FIELD_NAMES = frozenset(name for kind in PAYLOAD_TYPES.values() for name in kind.__struct_fields__) | frozenset(
    ToolResult.__struct_fields__
)
"""Names of payload fields, which are not secret."""
TEXTLESS_PAYLOADS: frozenset[type[Payload]] = frozenset(
    {ArtifactManifestWritten, LlmRequestStarted, LlmResponseFinished, ToolCallStarted}
)
"""Payloads without text (ids, kinds, digests, counts), which need no redaction."""

MAX_PAYLOAD_BYTES = MAX_LINE_BYTES - 4096
"""Leaves room for the other fields of a line."""
# How long `commit_soon` waits for a commit that would sync the same lines.
SOON_SECONDS = 0.005

_numbers = itertools.count()
_encode_json = msgspec.json.Encoder().encode


class LogPorts(msgspec.Struct, frozen=True):
    """The dependencies of a log: keys, clock, disk and secrets."""

    keys: KeyRing
    clock: Clock = msgspec.field(default_factory=SystemClock)
    disk: Disk = msgspec.field(default_factory=SystemDisk)
    secrets: Secrets | None = None
    """The secrets to redact in every event."""


def redact_payload(payload: Payload, secrets: Secrets) -> Payload:
    """Redact the secrets in all texts of a payload."""
    redacted = {name: _redact_value(name, value, secrets) for name, value in data_of(payload).items()}
    return decode_payload(payload.event_type, msgspec.json.encode(redacted))


def _redact_value(name: str, value: Any, secrets: Secrets) -> Any:
    if name in UNREDACTED_FIELDS or name.endswith(UNREDACTED_SUFFIXES):
        return value
    match value:
        case dict():
            redacted: dict[str, Any] = {}
            for key, item in cast("dict[str, Any]", value).items():
                is_field = key in FIELD_NAMES or key in UNREDACTED_FIELDS
                hidden = secrets.value({key: item}) if not is_field and not isinstance(item, dict | list) else None
                label = key if is_field else secrets.text(key)
                redacted[label] = _redact_value(key, item, secrets) if hidden is None else next(iter(hidden.values()))
            return redacted
        case list():
            return [_redact_value("", item, secrets) for item in cast("list[Any]", value)]
        case _:
            return secrets.value(value)


class EventLog:
    """Appends events to one open file; made by `create_log` and `open_log`."""

    def __init__(
        self, fd: int, *, run_id: str, key: LogKey, start: Position, ports: LogPorts, checkpoints: Checkpoints
    ) -> None:
        self.run_id = run_id
        self.number = next(_numbers)
        self.epoch = start.epoch
        self._fd = fd
        self._device = os.fstat(fd).st_dev
        self.key = key
        self._chain = Chain(key.secret, start.head.encode())
        self._seq = start.seq
        self._offset = self._checkpointed = start.offset
        self._changes = 1  # a killed writer may have left lines that are not synced
        self._durable = 0
        self._ended = start.ended
        self._now = ports.clock.now
        self._secrets = ports.secrets
        self._disk = ports.disk
        self._checkpoints = checkpoints
        self._failure: StorageFailed | None = None
        self._last_ids: tuple[tuple[str | None, str | None], bytes] = ((None, None), b"")
        self._listeners: list[Listener] = []
        self._companions: dict[str, set[str]] = {}
        # Protects sequence, chain and file end against tools that report from threads.
        self._mutex = threading.Lock()
        # Keeps the descriptor open, and so the file the same, for as long as a sync takes.
        self._syncing = threading.Lock()

    @property
    def next_seq(self) -> int:
        """The sequence number the next event will get."""
        return self._seq

    @property
    def ended(self) -> bool:
        """Whether a terminal event was written."""
        return self._ended

    @property
    def position(self) -> Position:
        """The current end of the log."""
        with self._mutex:
            return self._position()

    def listen(self, listener: Listener) -> None:
        """Call `listener` with each event after it is written, in order."""
        self._listeners.append(listener)

    def with_next_commit(self, directory: Path, *names: str) -> None:
        """Sync files of a directory, then the directory, with the next commit."""
        with self._mutex:
            self._companions.setdefault(str(directory), set()).update(names)
            self._changes += 1

    def digest(self, size: int) -> str:
        """Compute the digest of the first `size` bytes."""
        return prefix_digest(self._fd, size)

    @contextmanager
    def pause(self) -> Generator[Position]:
        """Block appends while the caller reads state that listeners derived from the log."""
        with self._mutex:
            yield self._position()

    def append(self, payload: Payload, *, turn_id: str | None = None, step_id: str | None = None) -> Event:
        """Write one event; it survives the process, and after `commit` also the machine."""
        payload, data = self._encode(payload)
        with self._mutex:
            head = self._chain.head
            line, event = self._seal(self._seq, payload, data, turn_id, step_id)
            self._write(line, head)
            self._publish((event,))
        return event

    def append_all(self, entries: Sequence[Entry]) -> list[Event]:
        """Write several events by one call to the disk, all or none."""
        encoded = [self._encode(payload) for payload, _, _ in entries]
        if any(payload.event_type in TERMINAL_TYPES for payload, _ in encoded[:-1]):
            self._refuse(encoded[-1][0].event_type)
        with self._mutex:
            head = self._chain.head
            sealed = [
                self._seal(seq, payload, data, turn_id, step_id)
                for seq, (payload, data), (_, turn_id, step_id) in zip(itertools.count(self._seq), encoded, entries)
            ]
            events = [event for _, event in sealed]
            self._write(b"".join([line for line, _ in sealed]), head)
            self._publish(events)
        return events

    def _encode(self, payload: Payload) -> tuple[Payload, bytes]:
        """Encode a payload, redacted if necessary."""
        data = encode_payload(payload)
        if len(data) > MAX_PAYLOAD_BYTES:
            raise StorageFailed(f"an event of {len(data)} bytes is too long for the log")
        if self._secrets is None or type(payload) in TEXTLESS_PAYLOADS or self._secrets.line(data) is data:
            return payload, data
        redacted = redact_payload(payload, self._secrets)
        return redacted, encode_payload(redacted)

    def _seal(
        self, seq: int, payload: Payload, data: bytes, turn_id: str | None, step_id: str | None
    ) -> tuple[bytes, Event]:
        """Build the next line and the event for listeners."""
        if self._failure is not None or self._ended:
            self._refuse(payload.event_type)
        event_type, timestamp = payload.event_type, self._now()
        head = f'{{"seq":{seq},"type":"{event_type}","timestamp":"{timestamp}","run_id":"{self.run_id}"'
        ids = self._ids_field(turn_id, step_id)
        body = b'%b%b,"payload":%b,"epoch":%d' % (head.encode(), ids, data, self.epoch)
        seal = self._chain.seal(body)
        event = Event(seq, event_type, timestamp, self.run_id, payload, turn_id, step_id, self.epoch, seal.decode())
        return body + b',"mac":"' + seal + b'"}\n', event

    def _publish(self, events: Sequence[Event]) -> None:
        """Count written events and call the listeners."""
        self._seq += len(events)
        self._changes += len(events)
        self._ended = events[-1].type in TERMINAL_TYPES
        for event in events:
            for listener in self._listeners:
                listener(event)

    def commit(self) -> None:
        """Return once everything so far is durable."""
        if not self._is_durable():
            get_committer(self._device).request(self).result()

    async def commit_async(self) -> None:
        """Commit without blocking the event loop."""
        if not self._is_durable():
            await get_committer(self._device).commit(self)

    def commit_soon(self) -> None:
        """Make everything so far durable within `SOON_SECONDS`, or with the next commit if that comes first.

        Needs a running event loop. A sync that fails is raised by the next append or commit.
        """
        asyncio.get_running_loop().call_later(SOON_SECONDS, self._sync_if_needed, self._changes)

    def _sync_if_needed(self, changes: int) -> None:
        if self._durable < changes and self._failure is None and self._fd >= 0:
            get_committer(self._device).sync_later(self)

    def begin_flush(self) -> LogFlush:
        """Start a flush; the file stays open until it is settled."""
        self._syncing.acquire()
        with self._mutex:
            failure, changes, position = self._failure, self._changes, self._position()
            companions, self._companions = self._companions, {}
        if failure is not None or self._fd < 0:
            self._syncing.release()
            raise failure or StorageFailed("the log was closed before it was durable")
        return LogFlush(
            number=self.number,
            fd=self._fd,
            device=self._device,
            disk=self._disk,
            companions=companions,
            position=position,
            changes=changes,
            needed=changes > self._durable,
            end=self._end_flush,
        )

    def _end_flush(self, flush: LogFlush, error: OSError | None) -> StorageFailed | None:
        try:
            if error is not None:
                failure = self._fail("the log could not be made durable", error)
                failure.__cause__ = error
                return failure
            self._durable = flush.changes
            self._checkpoint(flush.position)
            return None
        finally:
            self._syncing.release()

    def _is_durable(self) -> bool:
        if self._failure is not None:
            raise self._failure
        return self._durable == self._changes

    def close(self) -> None:
        """Close the file and drop the listeners; does not sync."""
        with self._syncing, self._mutex:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1
            self._listeners = []

    def _refuse(self, event_type: str) -> NoReturn:
        if self._failure is not None:
            raise self._failure
        raise LogEnded(f"the run `{self.run_id}` has ended; `{event_type}` cannot follow")

    def _ids_field(self, turn_id: str | None, step_id: str | None) -> bytes:
        """Encode turn and step ids; cached, because consecutive events share them."""
        ids = (turn_id, step_id)
        if ids != self._last_ids[0]:
            turn = b',"turn_id":' + _encode_json(turn_id) if turn_id else b""
            step = b',"step_id":' + _encode_json(step_id) if step_id else b""
            self._last_ids = (ids, turn + step)
        return self._last_ids[1]

    def _write(self, line: bytes, chain_head: bytes) -> None:
        try:
            count = self._disk.write(self._fd, line)
            end = os.lseek(self._fd, 0, os.SEEK_CUR)
        except OSError as error:
            self._undo_write(self._offset, chain_head)
            raise self._fail("the log could not be written", error) from error
        expected = self._offset + len(line)
        if end != expected:
            self._undo_write(end - count, chain_head)
            if count == len(line):
                change = end - expected
                raise self._fail(f"another process changed the length of the log by {change:+d} bytes", None)
            raise self._fail("the log could not be written completely: the disk is full", None)
        self._offset = expected

    def _undo_write(self, size: int, chain_head: bytes) -> None:
        self._chain.head = chain_head
        with suppress(OSError):  # leaves a torn tail, which the next open removes
            self._disk.truncate(self._fd, size)

    def _fail(self, message: str, error: OSError | None) -> StorageFailed:
        # After a failed fsync the kernel may drop the dirty pages, and a retry then reports success: never retry.
        self._failure = StorageFailed(f"{message}: {error.strerror}" if error else message)
        return self._failure

    def _position(self) -> Position:
        return Position(
            seq=self._seq,
            offset=self._offset,
            head=self._chain.head.decode(),
            epoch=self.epoch,
            ended=self._ended,
            key_id=self.key.id,
        )

    def _checkpoint(self, position: Position) -> None:
        if position.offset - self._checkpointed >= CHECKPOINT_INTERVAL_BYTES:
            # A checkpoint only speeds up opening; the commit itself has succeeded.
            with suppress(OSError):
                self._checkpoints.add(position, self.key.secret)
            self._checkpointed = position.offset
