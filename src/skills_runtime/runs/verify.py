"""Verify a run directory: every file against the log, and the log against its key."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from skills_runtime.errors import LogError, SkillsRuntimeError
from skills_runtime.events import Event
from skills_runtime.projections import RunState, fold
from skills_runtime.runs.blobs import Blobs
from skills_runtime.runs.layout import MAX_BLOB_BYTES, MAX_TEXT_BYTES, SUBDIRECTORIES, RunPaths
from skills_runtime.runs.listing import (
    MAX_ARTIFACT_BYTES,
    FileEntry,
    Listing,
    decode_name,
    digest_file,
    find_files,
    read_manifest,
)
from skills_runtime.runs.log import Authenticity, KeyRing, authenticate, read_events, read_verified
from skills_runtime.runs.log.chain import FAULT_TEXT
from skills_runtime.runs.manifests import ArtifactManifest, log_prefix_digest
from skills_runtime.runs.record import build_record, is_transcript_current, read_record
from skills_runtime.runs.run import find_changed_snapshots
from skills_runtime.runs.spec import config_fingerprint
from skills_runtime.storage import error_reason, read_regular, sha256_of_path

MAX_UNLISTED = 100
"""The maximum number of unlisted files to report."""
Severity = Literal["error", "note"]
Outcome = Literal["verified", "not_authenticated", "not_verified"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One problem, or one thing that could not be checked."""

    code: str
    where: str
    message: str
    severity: Severity = "error"
    seq: int | None = None


class Head(msgspec.Struct, frozen=True):
    """A log position recorded outside the run directory, which the log must have reached."""

    seq: int
    mac: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a verification."""

    run_id: str
    events: int
    authentic: bool
    findings: list[Finding]

    @property
    def ok(self) -> bool:
        """Whether nothing contradicts the log."""
        return all(finding.severity != "error" for finding in self.findings)

    @property
    def outcome(self) -> Outcome:
        """The overall result: a consistent log without its key is not authenticated."""
        if not self.ok:
            return "not_verified"
        return "verified" if self.authentic else "not_authenticated"


def verify_run(root: Path, keys: KeyRing, *, known_head: Head | None = None) -> Verdict:
    """Check a whole run directory; reads everything, changes nothing."""
    paths = RunPaths(root.resolve())
    try:
        log = authenticate(paths, keys)
    except LogError as error:
        seq = error.details.get("seq")
        broken = Finding(code="log", where="events.jsonl", message=error.message, seq=seq)
        return Verdict(run_id="", events=seq or 0, authentic=False, findings=[broken])
    replay = fold(read_verified(paths, keys), _Replay())
    state = replay.state
    manifest = _manifest(paths)
    findings = [
        *_log_findings(log),
        *_head_findings(paths, state, known_head),
        *_layout_findings(paths),
        *_snapshot_findings(paths, state),
        *_fork_findings(state),
        *_record_findings(paths, state),
        *_manifest_findings(paths, state, manifest, log),
        *_transcript_findings(paths, state, keys),
        *_file_findings(paths, state, manifest),
        *_blob_findings(paths, replay),
    ]
    return Verdict(run_id=state.run_id, events=log.position.seq, authentic=log.unchecked == 0, findings=findings)


class _Replay:
    """The state of the run, and the blobs its log refers to."""

    def __init__(self) -> None:
        self.state = RunState()
        self.blobs: set[str] = set()

    def apply(self, event: Event) -> None:
        self.state.apply(event)
        names = [name for name in event.payload.__struct_fields__ if name.endswith("_blob")]
        self.blobs.update(digest for name in names if (digest := getattr(event.payload, name)))


def _log_findings(log: Authenticity) -> Iterator[Finding]:
    if log.tail_fault:
        line = log.position.seq + 1
        message = f"line {line} {FAULT_TEXT[log.tail_fault]}; it and what follows ({log.tail_bytes} bytes) do not count"
        yield Finding(code="log_tail", where="events.jsonl", message=message, seq=log.position.seq)
    if log.unchecked:
        message = f"not authenticated: the key `{log.header.key_id}` is not on this machine"
        yield Finding(code="authenticity", where="events.jsonl", message=message, severity="note")


def _head_findings(paths: RunPaths, state: RunState, head: Head | None) -> Iterator[Finding]:
    if head is None:
        return
    if state.last_seq < head.seq:
        message = f"the log ends at event {state.last_seq}, but it had reached event {head.seq}"
        yield Finding(code="log_cut", where="events.jsonl", message=message, seq=state.last_seq)
        return
    event = next(read_events(paths, from_seq=head.seq))
    if event.mac != head.mac:
        message = f"event {head.seq} is not the one this machine recorded"
        yield Finding(code="log_replaced", where="events.jsonl", message=message, seq=head.seq)


def _layout_findings(paths: RunPaths) -> Iterator[Finding]:
    for name in SUBDIRECTORIES:
        if not _has_mode(paths.root / name, stat.S_IFDIR):
            yield Finding(code="missing", where=name, message=f"the directory `{name}` is missing")
    for path in (paths.run_json, paths.artifact_manifest, paths.transcript):
        if not _has_mode(path, stat.S_IFREG):
            yield Finding(code="missing", where=path.name, message=f"`{path.name}` is missing")


def _has_mode(path: Path, kind: int) -> bool:
    """Return whether the path has this file type, without following a link."""
    try:
        return stat.S_IFMT(os.lstat(path).st_mode) == kind
    except OSError:
        return False


def _snapshot_findings(paths: RunPaths, state: RunState) -> Iterator[Finding]:
    bad = dict(find_changed_snapshots(paths, state))
    for name, how in bad.items():
        code = "tampered" if how == "changed" else how
        yield Finding(code=code, where=name, message=f"the snapshot `{name}` is {how} since the run began")
    config = paths.root / "config.yaml"
    if config.name in bad:
        return
    try:
        text = read_regular(config, MAX_TEXT_BYTES).decode(errors="replace")
    except OSError as error:
        yield Finding(code="missing", where=config.name, message=f"it cannot be read: {error_reason(error)}")
        return
    if config_fingerprint(text) != state.config_fingerprint:
        yield Finding(code="fingerprint", where=config.name, message="the configuration has another fingerprint")


def _fork_findings(state: RunState) -> Iterator[Finding]:
    point = state.fork
    if point is None:
        return
    parent = RunPaths(Path(point.root))
    where = f"run {point.run_id}"
    try:
        digest = log_prefix_digest(parent, point.offset)
    except SkillsRuntimeError:
        message = f"the run it was forked from is not at `{point.root}`"
        yield Finding(code="parent", where=where, message=message, severity="note")
        return
    if digest != point.prefix_sha256:
        yield Finding(code="parent", where=where, message="the run it was forked from was changed")


def _record_findings(paths: RunPaths, state: RunState) -> Iterator[Finding]:
    if not paths.run_json.is_file():
        return
    try:
        record = read_record(paths.run_json)
    except SkillsRuntimeError as error:
        yield Finding(code="run_json", where="run.json", message=error.message)
        return
    expected = build_record(state)
    ignored = {"schema"} if not state.open else {"schema", "updated_at", "last_seq"}
    for name in expected.__struct_fields__:
        if name not in ignored and getattr(record, name) != getattr(expected, name):
            message = f"`{name}` is `{getattr(record, name)}`, but the log says `{getattr(expected, name)}`"
            yield Finding(code="run_json", where="run.json", message=message)


def _manifest(paths: RunPaths) -> ArtifactManifest | None:
    try:
        return read_manifest(paths)
    except (OSError, msgspec.MsgspecError):
        return None


def _manifest_findings(
    paths: RunPaths, state: RunState, manifest: ArtifactManifest | None, log: Authenticity
) -> Iterator[Finding]:
    data_by_name = _json(paths.artifact_manifest)
    for path, data in (
        (paths.sandbox_manifest, _json(paths.sandbox_manifest)),
        (paths.artifact_manifest, data_by_name),
    ):
        for name in ("session_id", "task_id", "run_id"):
            if data is not None and data.get(name) != getattr(state, name):
                yield Finding(code="ids", where=path.name, message=f"`{name}` belongs to another run")
    # An open run rewrites its manifest when it finishes.
    if not state.manifest_sha256 or state.open:
        return
    unchanged = data_by_name is not None and _digest_of(paths.artifact_manifest) == state.manifest_sha256
    if manifest is None or not unchanged or "logs" not in (data_by_name or {}):
        yield Finding(code="tampered", where=paths.artifact_manifest.name, message="the manifest was changed")
        return
    yield from _manifest_entry_findings(paths, manifest, log)


def _digest_of(path: Path) -> str:
    try:
        return sha256_of_path(path, MAX_TEXT_BYTES)
    except OSError:  # it was there a moment ago
        return ""


def _manifest_entry_findings(paths: RunPaths, manifest: ArtifactManifest, log: Authenticity) -> Iterator[Finding]:
    for prefix in manifest.logs:
        size, digest = prefix.get("size"), prefix.get("digest", {}).get("sha256")
        actual = log_prefix_digest(paths, size) if isinstance(size, int) and size <= log.position.offset else ""
        if actual != digest:
            name = str(prefix.get("name"))
            yield Finding(code="log_prefix", where=name, message="the log is not an extension of what it was")
    for artifact in manifest.artifacts:
        if artifact.role != "deliverable":
            continue
        name = artifact.name
        try:
            path = decode_name(name, escaped="escaped" in artifact.annotations)
            digest = digest_file(paths.root, path, min(artifact.size, MAX_ARTIFACT_BYTES))
        except OSError as error:
            if error.errno != errno.EFBIG:
                yield Finding(code="missing", where=name, message=f"the deliverable `{name}` is missing")
                continue
            digest = ""
        if digest != artifact.digest.get("sha256"):
            yield Finding(code="tampered", where=name, message=f"the deliverable `{name}` was changed after the run")


def _transcript_findings(paths: RunPaths, state: RunState, keys: KeyRing) -> Iterator[Finding]:
    if state.open or not paths.transcript.is_file():
        return
    if not is_transcript_current(paths, read_verified(paths, keys)):
        yield Finding(code="transcript", where="transcript.md", message="the transcript is not the one the log gives")


def _file_findings(paths: RunPaths, state: RunState, manifest: ArtifactManifest | None) -> Iterator[Finding]:
    try:
        files = find_files(paths.root)
    except OSError as error:
        yield Finding(code="unlisted", where=".", message=f"the directory cannot be looked at: {error_reason(error)}")
        return
    listing, count = Listing(paths, state, manifest), 0
    for file in files:
        finding = _file_finding(listing, file) or _digest_finding(paths, file)
        count += finding is not None
        if finding is not None and count <= MAX_UNLISTED:
            yield finding
    if count > MAX_UNLISTED:
        message = f"{count - MAX_UNLISTED} more files do not belong to the run"
        yield Finding(code="unlisted", where=".", message=message)


def _file_finding(listing: Listing, file: FileEntry) -> Finding | None:
    """Return the finding about an unexpected file, if any."""
    status, name = listing.classify(file), file.path
    if file.blob is not None:
        orphan = status != "listed" and file.regular
        message = "no event names this blob"
        return (
            Finding(code="unlisted", where=_blob_label(file.blob), message=message, severity="note") if orphan else None
        )
    if status == "draft":
        message = "a process that was ended while it wrote a file left this"
        return Finding(code="unlisted", where=name, message=message, severity="note")
    if status == "uncertain":
        message = "the manifest does not list it, but is not complete"
        return Finding(code="unlisted", where=name, message=message, severity="note")
    if status == "unlisted":
        return Finding(code="unlisted", where=name, message="neither the manifest nor the log lists this file")
    if not file.regular and status == "listed" and name.startswith(("workspace/", "executions/")):
        return Finding(code="tampered", where=name, message="it is not a regular file")
    return None


def _digest_finding(paths: RunPaths, file: FileEntry) -> Finding | None:
    """Return the finding about a blob that does not match its digest, if any."""
    if file.blob is None:
        return None
    try:
        if digest_file(paths.root, file.path, MAX_BLOB_BYTES) == file.blob:
            return None
    except OSError:
        pass
    return Finding(code="blob", where=_blob_label(file.blob), message="a blob does not hold what its name says")


def _blob_findings(paths: RunPaths, replay: _Replay) -> Iterator[Finding]:
    blobs = Blobs(paths.blobs)
    # An open run needs its blobs; exports of an ended one leave them out.
    severity: Severity = "error" if replay.state.open else "note"
    for name in sorted(name for name in replay.blobs if not blobs.has(name)):
        yield Finding(
            code="missing", where=_blob_label(name), message="a blob the log names is missing", severity=severity
        )


def _blob_label(blob: str) -> str:
    return f"blobs/…/{blob[:12]}"


def _json(path: Path) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(read_regular(path, MAX_TEXT_BYTES), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError):
        return None
