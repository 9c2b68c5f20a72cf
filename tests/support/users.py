"""Run code as an ordinary user (file modes mean nothing to root), and directories outside of every sandbox."""

import os
import pickle
import shutil
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from tests.support import ROOT

T = TypeVar("T")

NOBODY = 65534


class ChildFailed(AssertionError):
    """The child ended without a result, or with an error that cannot be pickled."""


class Unprivileged:
    """Calls functions in an unprivileged forked child; `path` is a directory it owns and can reach."""

    def __init__(self, *, home: Path, path: Path) -> None:
        self.path = path
        self._home = home
        if os.geteuid() == 0:
            for owned in (home, path):
                os.chown(owned, NOBODY, NOBODY)

    def __call__(self, function: Callable[[], T]) -> T:
        """Return the result of the function, or raise its error."""
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            # Python 3.12 warns of threads, which a test worker has; the child only runs the function and exits.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os.close(reader)
            self._run_in_child(function, writer)
        os.close(writer)
        with open(reader, "rb") as pipe:
            answer = pipe.read()
        _, status = os.waitpid(child, 0)
        return _unpack(answer, status)

    def _run_in_child(self, function: Callable[[], object], writer: int) -> NoReturn:
        try:
            self._drop_rights()
            answer = _pack("result", function())
        except BaseException as error:  # noqa: BLE001 - the parent raises it
            answer = _pack("error", error)
        # `os._exit` keeps the child from running the clean-up of the test session it was forked from.
        try:
            with open(writer, "wb") as pipe:
                pipe.write(answer)
        finally:
            os._exit(0)

    def _drop_rights(self) -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.environ.update(home_variables(self._home))
            os.chdir(self.path)


def home_variables(home: Path) -> dict[str, str]:
    """Return the environment of a user with an empty `home`."""
    return {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_STATE_HOME": str(home / ".local/state"),
    }


def _pack(outcome: str, value: object) -> bytes:
    try:
        packed = pickle.dumps((outcome, value))
        pickle.loads(packed)
    except Exception:  # noqa: BLE001 - pickling runs the code of whatever it is given
        text = "".join(traceback.format_exception(value)) if isinstance(value, BaseException) else repr(value)
        return pickle.dumps(("error", ChildFailed(f"this cannot be sent back from the child: {text}")))
    return packed


def _unpack(answer: bytes, status: int) -> Any:
    if not answer:
        code = os.waitstatus_to_exitcode(status)
        raise ChildFailed(f"the child died of {signal.Signals(-code).name if code < 0 else f'exit code {code}'}")
    outcome, value = pickle.loads(answer)
    if outcome == "error":
        raise value
    return value


TEMPORARY = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))


@contextmanager
def outside() -> Generator[Path]:
    """Create a directory that commands do not see as their own; removed afterwards."""
    above = Path(tempfile.mkdtemp(prefix="outside-", dir=_parent())).resolve()
    try:
        base = above / "place"
        base.mkdir()
        yield base
    finally:
        shutil.rmtree(above)


def _parent() -> Path:
    """Return the checkout, unless it is in a temporary directory itself."""
    cache = ROOT / ".pytest_cache"
    cache.mkdir(exist_ok=True)
    candidates = (cache, Path.home(), Path("/"))
    fit = [candidate.resolve() for candidate in candidates if os.access(candidate, os.W_OK | os.X_OK)]
    for path in fit:
        if not any(path.is_relative_to(temporary) for temporary in TEMPORARY):
            return path
    raise AssertionError("these tests need a directory that is not temporary: run them from a checkout elsewhere")
