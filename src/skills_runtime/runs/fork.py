"""Where a run comes from: another run it was forked from, or another machine.

A fork begins where another run stood after some event; it refers to that beginning and copies nothing. The point names
the bytes it stands on by their digest, so a parent that was changed is noticed. Of a run that was brought here from
elsewhere, nobody here chose what stands in its files.
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
from skills_runtime.runs.log.opening import create_verifier, read_log_header, verify_lines
from skills_runtime.runs.log.reader import open_for_reading
from skills_runtime.storage import read_regular

IMPORTED = "imported.json"
"""In `archive/` of such a run: when it came, and by whom."""
CONFIG = "config.yaml"


def was_imported(paths: RunPaths) -> bool:
    """Whether somebody brought the run here from elsewhere."""
    return (paths.archive / IMPORTED).is_file()


def is_from_elsewhere(paths: RunPaths, keys: KeyRing) -> bool:
    """Whether somebody brought the run here, or its log ends under a key that is not here.

    A directory that came by another way, as with a clone of a project, has no mark; but nobody elsewhere has the key.
    """
    return was_imported(paths) or keys.find(authenticate(paths, keys).position.key_id) is None


def has_own_config(paths: RunPaths, state: RunState) -> bool:
    """Whether the settings in a run directory are those that the run began with."""
    try:
        config = read_regular(paths.root / CONFIG, MAX_TEXT_BYTES)
    except OSError:
        return False
    return hashlib.sha256(config).hexdigest() == state.snapshots.get(CONFIG)


def fork_point(root: Path, seq: int, ports: LogPorts) -> ForkPoint:
    """The place after event `seq` of a run, verified up to there."""
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
    """What a run starts from: nothing, or the conversation its parent had at the fork."""
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
    """What a fork starts from; its parent itself started from `before`."""
    paths = RunPaths(Path(point.root))
    view = fold(_prefix(paths, point, ports), parent_view)
    # The calls of the parent count for the fork, and so does what it was given for more of them.
    state = RunState(
        turns=view.state.turns, steps=view.state.steps, task=view.state.task, extra_steps=view.state.extra_steps
    )
    if is_from_elsewhere(paths, ports.keys):
        view.conversation.distrust_paths()
    parent_pending = view.pending  # what people said to a call that is still open, they need not say again
    pending = Pending(
        # Approvals were given to the parent only, but a skill that is active confines whoever goes on with it.
        approvals=Approvals(confining=parent_pending.approvals.confining),
        questions=parent_pending.questions,
        answers=parent_pending.answers,
        responses=parent_pending.responses,
    )
    return RunView(state=state, conversation=view.conversation, pending=pending)


def whole_history(paths: RunPaths) -> Iterator[Event]:
    """The events of a run, after those of the runs it was forked from, as far as they are there."""
    yield from history_before(paths)
    yield from read_events(paths)


def history_before(paths: RunPaths) -> Iterator[Event]:
    """The events that a fork shares with the runs it was forked from, as far as they are there."""
    for point in reversed([*_fork_points(fork_of(paths))]):
        for event in read_events(RunPaths(Path(point.root))):
            if event.seq > point.seq:
                break
            yield event


def fork_of(paths: RunPaths) -> ForkPoint | None:
    """Where a run was forked from, if it was."""
    payload = next(read_events(paths)).payload
    return payload.fork if isinstance(payload, RunCreated) else None


def ancestors(point: ForkPoint | None) -> Iterator[RunPaths]:
    """The runs a run stands on, nearest first, as far as they are still there."""
    return (RunPaths(Path(ancestor.root)) for ancestor in _fork_points(point))


def _fork_points(point: ForkPoint | None) -> Iterator[ForkPoint]:
    """A fork's place in its parent, then the parent's place in its own and so on, as far as the runs are there."""
    visited: set[str] = set()  # somebody could forge runs that stand on each other
    while point is not None and point.root not in visited and Path(point.root, "events.jsonl").is_file():
        visited.add(point.root)
        yield point
        point = fork_of(RunPaths(Path(point.root)))


def blobs_of(paths: RunPaths) -> Blobs:
    """The blobs of a run, and of those it was forked from."""
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
