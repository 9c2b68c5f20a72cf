"""Create a run directory: write it completely under a hidden name, then publish it by one rename.

Readers see no run or a complete one, and two creators of one directory cannot both succeed. Later processes remove
the drafts that killed ones left behind.
"""

import errno
import hashlib
import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from skills_runtime.errors import AccessRefused, LogLocked, RunExists, StorageFailed, ValidationFailed
from skills_runtime.events import LOG_SCHEMA, Descriptor, Event, RunCreated, SandboxCreated
from skills_runtime.projections import RunView, fold
from skills_runtime.render import render_transcript
from skills_runtime.runs.blobs import Blobs
from skills_runtime.runs.fork import build_initial_view
from skills_runtime.runs.layout import DIRECTORY_MODE, SNAPSHOT_MODE, SNAPSHOTS, SUBDIRECTORIES, RunPaths, check_id
from skills_runtime.runs.log import EventLog, LogPorts, RunLock, create_log
from skills_runtime.runs.manifests import empty_manifest, sandbox_manifest
from skills_runtime.runs.record import build_record
from skills_runtime.runs.run import Run, make_creation_durable
from skills_runtime.runs.spec import RunSpec, config_fingerprint, pretty, snapshot_texts
from skills_runtime.storage import (
    create_directories,
    lock_directory,
    mark_children_unrelated,
    remove_empty_directories,
    remove_tree,
    write_new,
)

ABANDONED_SECONDS = 3600
_DRAFT = re.compile(r"\..{1,100}\.[0-9a-f]{12}\.new")


class RunDraft(NamedTuple):
    """An unpublished run directory and its open descriptor."""

    path: str
    fd: int


@contextmanager
def stage_run(root: Path) -> Generator[RunDraft]:
    """Create a draft of the run at `root`; removed when the block fails."""
    parent = root.parent
    path = f"{parent}/.{root.name[:100]}.{os.urandom(6).hex()}.new"
    created: list[Path] = []
    try:
        try:
            os.mkdir(path, DIRECTORY_MODE)  # noqa: PTH102 - done for every run: a `Path` costs more than the call
        except FileNotFoundError:
            created += create_directories(parent, mode=DIRECTORY_MODE)
            mark_children_unrelated(parent)
            os.mkdir(path, DIRECTORY_MODE)  # noqa: PTH102 - as above
        remove_abandoned_drafts(parent)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield RunDraft(path, fd)
        finally:
            os.close(fd)
    except BaseException as error:
        remove_tree(path, ignore_errors=True)
        remove_empty_directories(created)
        if isinstance(error, OSError):
            raise _translate_error(root, error) from error
        raise


def publish_run(draft: RunDraft, root: Path) -> None:
    """Publish a draft atomically at its final path."""
    try:
        os.rename(draft.path, root)  # noqa: PTH104 - as above
    except OSError as error:
        if root.exists():
            raise RunExists(f"`{root}` already holds a run") from error
        raise


def resolve_root(draft: RunDraft, root: Path) -> str:
    """Resolve the final path of a run behind all links, from the open descriptor of its draft."""
    try:
        draft_path = os.readlink(f"/proc/self/fd/{draft.fd}")  # noqa: PTH115 - done for every run
        return draft_path.rpartition("/")[0] + f"/{root.name}"
    except OSError:
        return os.path.realpath(root)


@cache
def remove_abandoned_drafts(directory: Path) -> None:
    """Remove drafts of killed processes; runs once per process and directory."""
    with suppress(OSError):  # drafts of other processes are no reason to fail
        # The disk's own time, for a draft has just been made here.
        now = directory.stat().st_mtime
        with os.scandir(directory) as entries:
            drafts = [
                entry for entry in entries if _DRAFT.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
            ]
        for draft in drafts:
            _remove_if_abandoned(Path(draft.path), now)


def _remove_if_abandoned(draft: Path, now: float) -> None:
    with suppress(LogLocked, OSError):  # a held lock means the creator is still alive
        if now - draft.stat().st_mtime < ABANDONED_SECONDS:
            return
        lock = RunLock(RunPaths(draft).lock)
        try:
            remove_tree(draft, ignore_errors=True)
        finally:
            lock.release()


def _translate_error(root: Path, error: OSError) -> Exception:
    if isinstance(error, PermissionError):
        return AccessRefused(f"no run can be created at `{root}`: {error.strerror}", hint="choose a writable directory")
    if isinstance(error, FileExistsError):
        return RunExists(f"`{root}` already holds a run")
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    hint = "free some space, or choose another directory" if is_full else "choose another directory"
    return StorageFailed(f"no run can be created at `{root}`: {error.strerror}", hint=hint)


def create_run(spec: RunSpec, ports: LogPorts) -> Run:
    """Create a run directory and return the open run, in state `pending`."""
    check_id(spec.run_id, "run")
    check_id(spec.session_id, "session")
    check_id(spec.task_id, "task")
    try:
        spec.prompt.encode()
    except UnicodeEncodeError:
        raise ValidationFailed("the prompt is not valid text", hint="correct its encoding") from None
    for deliverable in spec.required_deliverables:
        _check_deliverable(deliverable.path)
    _refuse_existing(spec.root)
    paths = RunPaths(spec.root)
    with stage_run(spec.root) as draft:
        log, lock = create_log(draft.path, paths, spec.run_id, ports)
        try:
            view, events = _write_files(draft, spec, ports, log)
            with _link_claimed(spec):
                publish_run(draft, spec.root)
        except BaseException:
            log.close()
            lock.release()
            raise
    make_creation_durable(paths, log)
    if spec.link:
        log.with_next_commit(spec.link.parent)
    log.listen(view.apply)
    run = Run(paths, log, lock, view, ports)
    run.remember(events, {"prompt.md": spec.prompt, "effective-system-prompt.md": spec.system_prompt})
    for data in spec.blobs:
        run.put_blob(data)  # there already, and durable with the first commit
    return run


def _write_files(draft: RunDraft, spec: RunSpec, ports: LogPorts, log: EventLog) -> tuple[RunView, list[Event]]:
    now, directory = ports.clock.now(), draft.fd
    for name in SUBDIRECTORIES:
        os.mkdir(name, DIRECTORY_MODE, dir_fd=directory)
    snapshots = [
        _snapshot(directory, name, data, SNAPSHOTS[name][0]) for name, data in snapshot_texts(spec, now=now).items()
    ]
    for data in spec.blobs:
        Blobs(f"{draft.path}/blobs").put(data)
    manifest = pretty(sandbox_manifest(spec, snapshots, created_at=now, root=resolve_root(draft, spec.root)))
    descriptor = _snapshot(directory, "sandbox-manifest.json", manifest, "sandbox-manifest")
    sandbox_created = SandboxCreated(workspace_mode=spec.workspace_mode, manifest=descriptor)
    payloads = (_run_created(spec, log.key.id, snapshots), sandbox_created, *spec.initial_events)
    events = log.append_all([(payload, None, None) for payload in payloads])
    view = fold(events, build_initial_view(spec.fork, ports))
    write_new("run.json", pretty(build_record(view.state)), dir_fd=directory)
    write_new("artifact-manifest.json", pretty(empty_manifest(view.state, generated_at=now)), dir_fd=directory)
    write_new("transcript.md", "".join(render_transcript(events)).encode(), dir_fd=directory)
    return view, events


def _run_created(spec: RunSpec, key_id: str, snapshots: list[Descriptor]) -> RunCreated:
    return RunCreated(
        schema=LOG_SCHEMA,
        key_id=key_id,
        session_id=spec.session_id,
        task_id=spec.task_id,
        profile_id=spec.profile_id,
        config_fingerprint=config_fingerprint(spec.config_text),
        attempt=spec.attempt,
        parent_run_id=spec.parent_run_id,
        required_deliverables=[deliverable.name for deliverable in spec.required_deliverables],
        snapshots=snapshots,
        fork=spec.fork,
    )


def _snapshot(directory: int, name: str, data: bytes, role: str) -> Descriptor:
    write_new(name, data, mode=SNAPSHOT_MODE, dir_fd=directory)
    return Descriptor(name=name, sha256=hashlib.sha256(data).hexdigest(), size=len(data), role=role)


def _check_deliverable(path: str) -> None:
    parts = Path(path).parts
    inside = parts and ".." not in parts and not path.startswith("/") and not path.endswith("/")
    if not inside or "\\" in path or not path.isprintable():
        raise ValidationFailed(
            f"`{path[:200]}` cannot be a required deliverable", hint="name a file relative to `deliverables/`"
        )


def _refuse_existing(root: Path) -> None:
    try:
        if stat.S_ISLNK(os.lstat(root).st_mode):
            raise ValidationFailed(f"`{root}` is a link", hint="name the directory itself")
        names = {entry.name for entry in root.iterdir()}
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise ValidationFailed(f"`{root}` is a file, not a directory") from None
    except OSError as error:
        raise AccessRefused(f"`{root}` cannot be used: {error.strerror}") from error
    if "events.jsonl" in names or "run.json" in names:
        raise RunExists(f"`{root}` already holds a run")
    if names:
        raise ValidationFailed(f"`{root}` is not empty", hint="name a directory that does not exist yet")


@contextmanager
def _link_claimed(spec: RunSpec) -> Generator[None]:
    """Claim the run id by a link in the workspace first, so that one id never names two runs."""
    if spec.link is None:
        yield
        return
    created = create_directories(spec.link.parent, mode=DIRECTORY_MODE)
    try:
        # An unpublished run looks like a removed one, its link dangles: hold the lock so that it is not reclaimed.
        with lock_directory(spec.link.parent):
            _claim(spec.link, spec)
            try:
                yield
            except BaseException:
                spec.link.unlink(missing_ok=True)
                raise
    except BaseException:
        remove_empty_directories(created)
        raise


def _claim(link: Path, spec: RunSpec) -> None:
    if link.is_symlink() and not link.exists():
        link.unlink()  # its run is gone
    try:
        link.symlink_to(spec.root)
    except FileExistsError:
        raise RunExists(f"the run id `{spec.run_id}` is taken in this workspace") from None
