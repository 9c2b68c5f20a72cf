"""A run directory with something outside it worth protecting, seen through both ways of opening."""

import itertools
import os
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from skills_runtime.events.payloads import FileOperation
from skills_runtime.runs.files.operations import RunFiles
from skills_runtime.runs.files.paths import PathPolicy, isolated_policy, shared_policy
from skills_runtime.runs.layout import SUBDIRECTORIES
from skills_runtime.storage.beneath import Opener, open_by_kernel, open_by_walk

DIED = 9
Swapping = Callable[[Callable[[], None]], AbstractContextManager[None]]


def make_run(root: Path) -> Path:
    for name in SUBDIRECTORIES:
        (root / name).mkdir(parents=True)
    for name in ("run.json", "events.jsonl", "config.yaml", "run.lock"):
        (root / name).write_text(f"system {name}")
    (root / "blobs" / "b").write_text("blob")
    (root / "logs" / "l").write_text("log")
    return root


@pytest.fixture(params=[open_by_kernel, open_by_walk], ids=["kernel", "walking"])
def opener(request: pytest.FixtureRequest) -> Opener:
    return request.param


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory no run may touch, holding `x` with `outside secret`."""
    path = tmp_path / "outside"
    path.mkdir()
    (path / "x").write_text("outside secret")
    return path


@pytest.fixture
def run_root(tmp_path: Path) -> Path:
    """A run directory, with a sibling whose name begins like its own."""
    sibling = tmp_path / "demo-001-evil"
    sibling.mkdir()
    (sibling / "x").write_text("outside secret")
    return make_run(tmp_path / "demo-001")


@pytest.fixture
def workspace_root(tmp_path: Path) -> Path:
    """A user's own tree with a run of its own inside."""
    path = tmp_path / "project"
    make_run(path / ".skills_runtime_sdk" / "runs" / "run_1")
    (path / "main.py").write_text("print()")
    return path


@pytest.fixture
def isolated(run_root: Path) -> PathPolicy:
    return isolated_policy(run_root)


@pytest.fixture
def shared(workspace_root: Path) -> PathPolicy:
    return shared_policy(workspace_root, workspace_root / ".skills_runtime_sdk" / "runs" / "run_1")


@pytest.fixture
def records() -> list[FileOperation]:
    """Everything recorded during the test."""
    return []


@pytest.fixture
def files(isolated: PathPolicy, records: list[FileOperation], opener: Opener) -> RunFiles:
    """The files of the isolated run."""
    return RunFiles(isolated, records.append, opener=opener)


@pytest.fixture
def deleting(isolated: PathPolicy, records: list[FileOperation], opener: Opener) -> RunFiles:
    """The files of the isolated run, where deleting is allowed."""
    return RunFiles(replace(isolated, delete="allow"), records.append, opener=opener)


@pytest.fixture
def shared_files(shared: PathPolicy, records: list[FileOperation], opener: Opener) -> RunFiles:
    """The files of the run in the user's own tree."""
    return RunFiles(shared, records.append, opener=opener)


@pytest.fixture
def descriptors() -> Callable[[], int]:
    """Counts the open files of this process."""
    return lambda: len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def swapping() -> Swapping:
    """Calls a function over and over in another thread while the body runs."""

    @contextmanager
    def during(swap: Callable[[], None]) -> Generator[None]:
        stop, failures = threading.Event(), list[BaseException]()

        def loop() -> None:
            try:
                while not stop.is_set():
                    swap()
            except BaseException as error:  # noqa: BLE001 - raised again by the test's own thread
                failures.append(error)

        thread = threading.Thread(target=loop)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
        assert not failures

    return during


def dies_at_sync(nth: int, work: Callable[[], object]) -> bool:
    """Do something in a process that dies when it syncs a file for the n-th time; false when it ended before that."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == DIED
    left = itertools.count(nth - 1, -1)

    def sync(_: int) -> None:
        if not next(left):
            os._exit(DIED)

    try:
        os.fsync = sync
        work()
    finally:
        os._exit(1)
