"""Somebody who speaks to a run at one chosen moment of its end, and processes that die there."""

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from skills_runtime.agent import hearing
from skills_runtime.errors import LogEnded
from skills_runtime.ports import InboxMessage
from skills_runtime.testing.inbox import InMemoryInbox

_BEGINNINGS: frozenset[CodeType] = frozenset({hearing.finish_heard_async.__code__, hearing.finish_heard.__code__})
_PLACES = ("/skills_runtime/agent/", "/skills_runtime/runs/")


_ELSEWHERE = "/runs/ids.py"
"""What the inbox itself calls."""


class Killed(BaseException):
    """The process dies."""


class Moments:
    """Counts every call that the runtime makes from the beginning of an end on, and acts at one of them.

    Only calls on the way to the end are moments: inside of the inbox nobody else can come between.
    """

    def __init__(self, at: int, act: Callable[[], object]) -> None:
        self.count = 0
        self.at, self._act = at, act
        self._ending = self._busy = False

    def _see(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or self._busy:
            return
        self._ending = self._ending or frame.f_code in _BEGINNINGS
        where = frame.f_code.co_filename
        if not self._ending or where.endswith(_ELSEWHERE) or not any(place in where for place in _PLACES):
            return
        self.count += 1
        if self.count == self.at:
            self._busy = True
            self._act()
            self._busy = False

    @contextmanager
    def watched(self) -> Generator[None]:
        """Count what happens in this thread meanwhile."""
        before = sys.getprofile()
        sys.setprofile(self._see)
        try:
            yield
        finally:
            sys.setprofile(before)


class Sender:
    """Says one thing, and remembers whether it was accepted."""

    def __init__(self, send: Callable[[], InboxMessage]) -> None:
        self._send = send
        self.message: InboxMessage | None = None
        self.refusal: LogEnded | None = None

    def __call__(self) -> None:
        """Say it."""
        try:
            self.message = self._send()
        except LogEnded as error:
            self.refusal = error


class ClosingThen(InMemoryInbox):
    """An inbox after whose closing something happens, the first time."""

    def __init__(self, then: Callable[[], object]) -> None:
        super().__init__()
        self._then: Callable[[], object] | None = then

    def close_for(self, run_id: str, *, unless_behind: int | None = None) -> tuple[InboxMessage, ...]:
        """Close it; what comes then is the next moment of the run."""
        found = super().close_for(run_id, unless_behind=unless_behind)
        then, self._then = self._then, None
        if then is not None:
            then()
        return found


def die() -> None:
    """End this process, as far as a test can."""
    raise Killed


def texts(messages: Sequence[Any]) -> list[str]:
    """What the messages of a log say."""
    return [one.body["text"] for one in messages if one.kind == "steer"]
