"""Group commit: one thread per process makes many waiting logs and many waiting producers durable together."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol


class Committable(Protocol):
    """Something that can be made durable."""

    def flush(self) -> None:
        """Make everything appended so far durable; raises when the disk says no."""
        ...


class Committer:
    """Collects requests while a sync is under way, then serves all of them with one sync each log."""

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._waiting: dict[Committable, list[Future[None]]] = {}
        self._thread: threading.Thread | None = None

    def request(self, log: Committable) -> Future[None]:
        """A future that resolves once all that `log` holds now is durable."""
        future: Future[None] = Future()
        with self._wake:
            self._waiting.setdefault(log, []).append(future)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="log-committer", daemon=True)
                self._thread.start()
            self._wake.notify()
        return future

    def _work(self) -> None:
        while True:
            with self._wake:
                while not self._waiting:
                    self._wake.wait()
                batch, self._waiting = self._waiting, {}
            for log, futures in batch.items():
                _resolve(futures, log.flush)


def _resolve(futures: list[Future[None]], flush: Callable[[], None]) -> None:
    # A waiter that was cancelled must not be answered: that would raise here and end the only committer.
    futures = [future for future in futures if future.set_running_or_notify_cancel()]
    try:
        flush()
    except BaseException as error:  # noqa: BLE001 - every waiter must hear of it, whatever it is
        for future in futures:
            future.set_exception(error)
    else:
        for future in futures:
            future.set_result(None)


_committer = Committer()


def committer() -> Committer:
    """The committer of this process."""
    return _committer


def _reset() -> None:
    global _committer
    _committer = Committer()


os.register_at_fork(after_in_child=_reset)
