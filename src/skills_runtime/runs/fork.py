"""The origin of a run: the run it was forked from, or another machine.

A fork continues another run after one of its events; it refers to that prefix of the log and copies nothing. The fork
point holds the digest of the prefix, so a changed parent is detected. The files of an imported run are not trusted.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from skills_runtime.errors import LogCorrupt, NotFound, ValidationFailed
from skills_runtime.events import Event, ForkPoint, RunCreated
from skills_runtime.projections import Approvals, Pending, RunState, RunView, fold
from skills_runtime.runs.blobs import Blobs
from skills_runtime.runs.layout import MAX_TEXT_BYTES, RunPaths
from skills_runtime.runs.log import KeyRing, LogPorts, authenticate, read_events, read_verified
from skills_runtime.runs.log.chain import prefix_digest
from skills_runtime.runs.log.reader import open_for_reading
from skills_runtime.runs.log.recovery import create_verifier, read_log_header, verify_lines
from skills_runtime.storage import read_regular

IMPORTED = "imported.json"
"""In `archive/` of an imported run: when it was imported, and by which user."""
CONFIG = "config.yaml"


def was_imported(paths: RunPaths) -> bool:
    """Return whether the run was imported."""
    return (paths.archive / IMPORTED).is_file()


def is_from_elsewhere(paths: RunPaths, keys: KeyRing) -> bool:
    """Return whether the run was imported, or its log ends under a key that is not on this machine.

    A directory that was copied, as with a clone of a project, has no import mark, but its key is missing.
    """
    return was_imported(paths) or keys.find(authenticate(paths, keys).position.key_id) is None


def has_own_config(paths: RunPaths, state: RunState) -> bool:
    """Return whether `config.yaml` is the one that the run was created with."""
    try:
        config = read_regular(paths.root / CONFIG, MAX_TEXT_BYTES)
    except OSError:
        return False
    return hashlib.sha256(config).hexdigest() == state.snapshots.get(CONFIG)


def fork_point(root: Path, seq: int, ports: LogPorts) -> ForkPoint:
    """Verify a run up to event `seq` and return the fork point after it."""
    paths = RunPaths(root.resolve())
    digest = hashlib.sha256()
    with open_for_reading(paths) as fd:
        header = read_log_header(fd)
        if header.version == 0:
            raise LogCorrupt("this log was written by an older product and can only be read", hint="start a new run")
        verifier = create_verifier(fd, ports.keys, header, None)
        for line in verify_lines(fd, verifier):
            digest.update(line.data + b"\n")
            if verifier.position.seq == seq + 1:
                position = verifier.position
                return ForkPoint(
                    run_id=header.run_id,
                    root=str(paths.root),
                    seq=seq,
                    offset=position.offset,
                    prefix_sha256=digest.hexdigest(),
                )
    raise ValidationFailed(
        f"the run `{header.run_id}` has no event {seq}", hint=f"its last event is {verifier.position.seq - 1}"
    )


def build_initial_view(point: ForkPoint | None, ports: LogPorts) -> RunView:
    """Build the view that a run starts from: empty, or the parent's conversation at the fork point."""
    points = [*_fork_points(point)]
    missing = fork_of(RunPaths(Path(points[-1].root))) if points else point
    if missing is not None:
        raise NotFound(
            f"the run `{missing.run_id}` this one was forked from is no longer at `{missing.root}`", hint="put it back"
        )
    view = RunView()
    for ancestor in reversed(points):
        view = _build_fork_view(ancestor, view, ports)
    return view


def _build_fork_view(point: ForkPoint, parent_view: RunView, ports: LogPorts) -> RunView:
    """Build the view that a fork starts from; its parent started from `parent_view`."""
    paths = RunPaths(Path(point.root))
    view = fold(_prefix(paths, point, ports), parent_view)
    # The parent's steps, and the extra steps it was granted, count against the fork's budget.
    state = RunState(
        turns=view.state.turns, steps=view.state.steps, task=view.state.task, extra_steps=view.state.extra_steps
    )
    if is_from_elsewhere(paths, ports.keys):
        view.conversation.clear_skill_paths()
    parent_pending = view.pending  # answers to calls that are still open carry over
    pending = Pending(
        # Approvals are not inherited, but the restrictions of an active skill are.
        approvals=Approvals(confining=parent_pending.approvals.confining),
        questions=parent_pending.questions,
        answers=parent_pending.answers,
        responses=parent_pending.responses,
    )
    return RunView(state=state, conversation=view.conversation, pending=pending)


def whole_history(paths: RunPaths) -> Iterator[Event]:
    """Read the events of a run, after those of the existing runs it was forked from."""
    yield from history_before(paths)
    yield from read_events(paths)


def history_before(paths: RunPaths) -> Iterator[Event]:
    """Read the events that a fork shares with the existing runs it was forked from."""
    for point in reversed([*_fork_points(fork_of(paths))]):
        for event in read_events(RunPaths(Path(point.root))):
            if event.seq > point.seq:
                break
            yield event


def fork_of(paths: RunPaths) -> ForkPoint | None:
    """Return the fork point of a run, or None."""
    payload = next(read_events(paths)).payload
    return payload.fork if isinstance(payload, RunCreated) else None


def ancestors(point: ForkPoint | None) -> Iterator[RunPaths]:
    """Return the existing runs a run was forked from, nearest first."""
    return (RunPaths(Path(ancestor.root)) for ancestor in _fork_points(point))


def _fork_points(point: ForkPoint | None) -> Iterator[ForkPoint]:
    """Yield the fork point of a run, then that of its parent and so on, while the runs exist."""
    visited: set[str] = set()  # forged runs could name each other as parents
    while point is not None and point.root not in visited and Path(point.root, "events.jsonl").is_file():
        visited.add(point.root)
        yield point
        point = fork_of(RunPaths(Path(point.root)))


def blobs_of(paths: RunPaths) -> Blobs:
    """Open the blobs of a run and of the runs it was forked from."""
    return Blobs(paths.blobs, *(ancestor.blobs for ancestor in ancestors(fork_of(paths))))


def _prefix(paths: RunPaths, point: ForkPoint, ports: LogPorts) -> Iterator[Event]:
    with open_for_reading(paths) as fd:
        digest = prefix_digest(fd, point.offset)
    if digest != point.prefix_sha256:
        raise LogCorrupt(f"the run `{point.run_id}` is not the one this run was forked from: its log was changed")
    for event in read_verified(paths, ports.keys):
        if event.seq > point.seq:
            return
        yield event
