"""What holds for every test: a fixed seed, an empty home, no secrets, no network."""

import gc
import itertools
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from skills_runtime.processes import launcher
from skills_runtime.sandbox import landlock
from tests.support.examples import THOROUGH
from tests.support.network import network_off
from tests.support.users import Unprivileged, home_variables

for _profile, _count in (("quick", 25), ("thorough", 100)):
    settings.register_profile(
        _profile,
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=_count,
        suppress_health_check=[HealthCheck.too_slow],
    )
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # every program that a test starts would compile all of ours again
os.environ.pop("MAKEFLAGS", None)  # a `make` that a test starts is none of ours
settings.load_profile("thorough" if THOROUGH else "quick")

LONG = ("e2e/studio", "e2e", "property", "docs", "contract", "replay")
"""Where tests take long, in the order in which they are begun."""
LONGEST_NAME = 30
MANY_OBJECTS = 20_000
"""How many are made before garbage is looked for: with the usual 700, that is a twentieth of what tests cost."""
_numbers = itertools.count()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Read the tests in a different order in each worker, so that most of them were compiled by another one already.

    What was read stays until the end, so the collector of garbage need not look at it again and again.
    """
    worker: dict[str, Any] | None = getattr(session.config, "workerinput", None)
    given = [Path(one) for one in session.config.args]
    if worker and all(one.exists() for one in given):
        files = sorted(path for one in given for path in (one.rglob("test_*.py") if one.is_dir() else (one,)))
        first = len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
        session.config.args = [str(path) for path in (*files[first:], *files[:first])]
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(MANY_OBJECTS)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """What takes long comes first, so that nobody is left with it at the end while the others have nothing to do."""
    items.sort(key=lambda item: item.path)  # all workers need the same order, before anything is shuffled
    yield
    folders = [f"{Path(__file__).parent / one}/" for one in LONG]
    items.sort(key=lambda item: next((n for n, one in enumerate(folders) if str(item.path).startswith(one)), len(LONG)))


@pytest.fixture(autouse=True, scope="session")
def programs_hear_signals() -> None:
    """Programs that tests start hear Ctrl-C and the end of a terminal, also where we were started by `nohup … &`.

    A program inherits that a signal is ignored, but no handler; so this process goes on ignoring them by one.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, _ignore)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Do nothing, as `SIG_IGN` does, but only in this process."""


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """Nothing but this machine can be connected to."""
    with network_off():
        yield


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory of the test's own; the user's variables for us are gone."""
    for name in list(os.environ):
        if name == "OPENAI_API_KEY" or name.startswith(("SKILLS_RUNTIME_", "XDG_")):
            monkeypatch.delenv(name)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if os.environ.get(name, "").startswith("zh"):  # tests expect English
            monkeypatch.setenv(name, "C.UTF-8")
    path = tmp_path_factory.getbasetemp() / f"home_{next(_numbers)}"
    path.mkdir(mode=0o700)  # `mktemp` resolves every name, which is most of what a quick test costs
    for name, value in home_variables(path).items():
        monkeypatch.setenv(name, value)
    return path


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty directory of the test's own, as pytest's is, but numbered by us.

    To find a free number, pytest reads the names of all directories made before, which are very many in the end.
    """
    name = re.sub(r"\W", "_", request.node.name)[:LONGEST_NAME]
    return tmp_path_factory.mktemp(f"{name}_{next(_numbers)}", numbered=False)


@pytest.fixture
def unprivileged() -> Iterator[Unprivileged]:
    """Runs a function in a child without rights; `unprivileged.path` is a directory that child owns.

    The directory is not below `tmp_path`, which nobody but the owner of the tests can enter.
    """
    with tempfile.TemporaryDirectory(prefix="unprivileged-") as place:
        home, path = Path(place, "home"), Path(place, "work")
        Path(place).chmod(0o711)
        home.mkdir(mode=0o700)
        path.mkdir(mode=0o700)
        with pytest.MonkeyPatch.context() as patch:
            _install(Path(place, "installed"), patch)
            yield Unprivileged(home=home, path=path)


def _install(place: Path, patch: pytest.MonkeyPatch) -> None:
    """Put code that other processes run where everybody can read it, as an installation is; a checkout need not be."""
    for module, package in ((launcher, "supervision"), (landlock, "inside")):
        shutil.copytree(module.CODE_DIRECTORY / package, place / package, ignore=shutil.ignore_patterns("__pycache__"))
        patch.setattr(module, "CODE_DIRECTORY", place)
    for path in (place, *place.rglob("*")):
        path.chmod(0o755)
