"""Connections to databases: one that is kept for the life of a source, or what a program hands over."""

import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

Connect = Callable[[], AbstractContextManager[Any]]
"""Lends a connection for the length of a `with` block."""


class _Kept:
    """A connection that is opened when first needed and lent to one thread at a time."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._open: Any = None
        self._closing: weakref.finalize[..., Any] | None = None

    @contextmanager
    def lent(self) -> Generator[Any]:
        """The connection; after an error it is closed, and the next one gets a new one."""
        with self._lock:
            if self._open is None:
                self._open = self._make()
                self._closing = weakref.finalize(self, self._open.close)
            try:
                yield self._open
            except BaseException:
                self._open = None
                if self._closing is not None:
                    self._closing()
                raise


def kept(make: Callable[[], Any]) -> Connect:
    """Lends one connection again and again; it is closed when nobody can ask for it any more."""
    return _Kept(make).lent


def handed_over(given: Any, marks: str) -> Connect:
    """Lends what a program injected: a client (which has `marks`), a pool with `.connection()`, or a factory.

    Only what a factory made is closed; the rest belongs to whoever made it.
    """
    if hasattr(given, marks):
        return lambda: _borrowed(given)
    if callable(getattr(given, "connection", None)):
        return given.connection
    if callable(given):
        return lambda: _made(given)
    raise TypeError(f"a client, a pool with `.connection()` or a factory is needed, not `{type(given).__name__}`")


@contextmanager
def _borrowed(client: Any) -> Generator[Any]:
    yield client


@contextmanager
def _made(factory: Callable[[], Any]) -> Generator[Any]:
    client = factory()
    try:
        yield client
    finally:
        close = getattr(client, "close", None)
        if callable(close):
            close()
