"""Snapshots of folded state, so that resume reads the end of a log and not its history.

The state itself is opaque here. A snapshot is believed only if its tag is ours and the log still has that place.
"""

import hashlib
from pathlib import Path

import msgspec

from skills_runtime.events.envelope import reader
from skills_runtime.runs.log.chain import same, tag
from skills_runtime.runs.log.checkpoints import fits
from skills_runtime.runs.log.position import Position
from skills_runtime.runs.log.verifier import FindSecret
from skills_runtime.storage.files import write_atomic

LEAST_BYTES = 4 << 20
GROWTH = 8


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


_decode = reader(_Signed)


def due(position: Position, last: SnapshotHeader | None) -> bool:
    """Whether enough was appended; the step grows with the state, so the total cost stays linear."""
    since = position.offset - (last.position.offset if last else 0)
    return since >= max(LEAST_BYTES, GROWTH * (last.size if last else 0))


def save(path: Path, run_id: str, kind: str, state: bytes, *, position: Position, secret: bytes) -> SnapshotHeader:
    """Replace the snapshot; a reader sees the old one or the new one."""
    header = SnapshotHeader(
        kind=kind, run_id=run_id, position=position, size=len(state), sha256=hashlib.sha256(state).hexdigest()
    )
    signed = _Signed(header, tag(secret, "snapshot", msgspec.json.encode(header)))
    write_atomic(path, msgspec.json.encode(signed) + b"\n" + state, durable=False)
    return header


def load(path: Path, kind: str, *, log_fd: int, find_secret: FindSecret) -> tuple[SnapshotHeader, bytes] | None:
    """The last snapshot of this kind, or None when there is none that can be believed."""
    try:
        first, _, state = path.read_bytes().partition(b"\n")
        signed = _decode(first)
    except (OSError, msgspec.MsgspecError):
        return None
    header = signed.header
    secret = find_secret(header.position.key_id)
    believed = (
        header.kind == kind
        and secret is not None
        and same(tag(secret, "snapshot", msgspec.json.encode(header)), signed.tag)
        and same(hashlib.sha256(state).hexdigest(), header.sha256)
        and fits(log_fd, header.position)
    )
    return (header, state) if believed else None
