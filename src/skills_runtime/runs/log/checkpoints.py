"""Checkpoints and snapshots: verified positions that save reading a large log from the start.

A checkpoint is a line of `logs/checkpoints.jsonl`, tagged with the log's key; an untagged or stale one is ignored. A
snapshot holds folded state, opaque here; it is valid only if its tag verifies and the log still has that position.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from skills_runtime.events import build_decoder, decode_wire
from skills_runtime.runs.layout import FILE_MODE, MAX_BLOB_BYTES
from skills_runtime.runs.log.chain import FindSecret, Position, is_equal, read_line_before, read_lines, split_line, tag
from skills_runtime.storage import open_regular, read_regular, write_atomic

CHECKPOINT_INTERVAL_BYTES = 1 << 20
"""The distance between checkpoints."""
MIN_SNAPSHOT_INTERVAL_BYTES = 4 << 20
"""The minimum distance between snapshots."""
SNAPSHOT_GROWTH_FACTOR = 8
"""The distance between snapshots, as a multiple of the size of the last one."""
_APPENDING = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_READ_BYTES = 64 << 20
"""The maximum number of bytes read from `checkpoints.jsonl`."""
_TAIL_BYTES = 8192
"""The number of bytes read from the end of `checkpoints.jsonl` for the latest one."""


class Checkpoint(msgspec.Struct, frozen=True):
    """A position and the tag that proves we wrote it."""

    position: Position
    tag: str


def _tag(secret: bytes, run_id: str, position: Position) -> str:
    return tag(secret, "checkpoint", run_id.encode() + msgspec.json.encode(position))


def is_in_log(fd: int, position: Position) -> bool:
    """Return whether a line with that seal ends at that offset of the log."""
    line = read_line_before(fd, position.offset)
    parts = split_line(line) if line is not None else None
    return parts is not None and is_equal(parts[1], position.head.encode())


_decode_checkpoint = build_decoder(Checkpoint)


def _read_seq_before(fd: int, offset: int) -> int | None:
    """Read the sequence number of the line before `offset`."""
    line = read_line_before(fd, offset)
    try:
        return decode_wire(line).seq if line is not None else None
    except msgspec.MsgspecError:
        return None


class Checkpoints:
    """The checkpoints of one log."""

    def __init__(self, path: Path | str, run_id: str) -> None:
        self._path = path
        self._run_id = run_id

    def add(self, position: Position, secret: bytes) -> None:
        """Append a checkpoint; the bytes up to it must be synced already."""
        line = msgspec.json.encode(Checkpoint(position, _tag(secret, self._run_id, position))) + b"\n"
        fd = os.open(self._path, _APPENDING, FILE_MODE)
        try:
            os.write(fd, line)
        finally:
            os.close(fd)

    def latest(self, log_fd: int, find_secret: FindSecret) -> Position | None:
        """Return the last checkpoint with a valid tag, if the log still matches it."""
        for checkpoint in reversed(list(self._read(tail_only=True))):
            secret = find_secret(checkpoint.position.key_id)
            if secret is not None and is_equal(_tag(secret, self._run_id, checkpoint.position), checkpoint.tag):
                return checkpoint.position if is_in_log(log_fd, checkpoint.position) else None
        return None

    def find_before(self, seq: int, log_fd: int) -> Position:
        """Find the best position to start reading for `seq`; needs no key, so only the log is trusted."""
        positions = (
            checkpoint.position for checkpoint in self._read(tail_only=False) if checkpoint.position.seq <= seq
        )
        for position in sorted(positions, key=lambda candidate: candidate.seq, reverse=True):
            if _read_seq_before(log_fd, position.offset) == position.seq - 1:
                return position
        return Position()

    def _read(self, *, tail_only: bool) -> Iterator[Checkpoint]:
        try:
            fd = open_regular(self._path)
        except OSError:  # then reading starts at the beginning
            return
        try:
            start = max(0, os.fstat(fd).st_size - _TAIL_BYTES) if tail_only else 0
            for line in read_lines(fd, start, end=start + _MAX_READ_BYTES):
                try:
                    yield _decode_checkpoint(line.data)
                except msgspec.MsgspecError:
                    continue  # the first piece of a tail, or a torn last line
        finally:
            os.close(fd)


class SnapshotHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a snapshot file."""

    kind: str
    run_id: str
    position: Position
    size: int
    sha256: str


class _Signed(msgspec.Struct, frozen=True):
    header: SnapshotHeader
    tag: str


_decode_signed = build_decoder(_Signed)


def is_snapshot_due(position: Position, last: SnapshotHeader | None) -> bool:
    """Return whether a snapshot is due; the interval grows with the state, so that the total cost stays linear."""
    since = position.offset - (last.position.offset if last else 0)
    return since >= max(MIN_SNAPSHOT_INTERVAL_BYTES, SNAPSHOT_GROWTH_FACTOR * (last.size if last else 0))


def save_snapshot(
    path: Path, run_id: str, kind: str, state: bytes, *, position: Position, secret: bytes
) -> SnapshotHeader:
    """Replace the snapshot atomically."""
    header = SnapshotHeader(
        kind=kind, run_id=run_id, position=position, size=len(state), sha256=hashlib.sha256(state).hexdigest()
    )
    signed = _Signed(header, tag(secret, "snapshot", msgspec.json.encode(header)))
    write_atomic(path, msgspec.json.encode(signed) + b"\n" + state, durable=False)
    return header


def load_snapshot(
    path: Path, kind: str, *, log_fd: int, find_secret: FindSecret
) -> tuple[SnapshotHeader, bytes] | None:
    """Load the snapshot of this kind, or None when there is no valid one."""
    try:
        first, _, state = read_regular(path, MAX_BLOB_BYTES).partition(b"\n")
        signed = _decode_signed(first)
    except (OSError, msgspec.MsgspecError):
        return None
    header = signed.header
    secret = find_secret(header.position.key_id)
    is_valid = (
        header.kind == kind
        and secret is not None
        and is_equal(tag(secret, "snapshot", msgspec.json.encode(header)), signed.tag)
        and is_equal(hashlib.sha256(state).hexdigest(), header.sha256)
        and is_in_log(log_fd, header.position)
    )
    return (header, state) if is_valid else None
