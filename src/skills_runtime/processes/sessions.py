"""The sessions of a run: numbered from 1, bounded, each independent of the others."""

import asyncio

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.processes.command import Command
from skills_runtime.processes.pty import DEFAULT_GRACE, DEFAULT_SIZE, Company, PtySession, SessionStatus, Size

DEFAULT_COUNT = 16


class Sessions:
    """Sessions by number; a number is never used twice."""

    def __init__(self, *, count: int = DEFAULT_COUNT, grace_seconds: float = DEFAULT_GRACE) -> None:
        self._count = count
        self._grace = grace_seconds
        self._sessions: dict[int, PtySession] = {}
        self._starting = 0
        self._last = 0

    async def start(self, command: Command, *, size: Size = DEFAULT_SIZE, company: Company | None = None) -> int:
        """Start a command on a terminal and return its number; those that have ended and were read make room."""
        self._forget_ended()
        if len(self._sessions) + self._starting >= self._count:
            raise ValidationFailed(
                f"there are {self._count} sessions already, which is the limit", hint="close one that is not needed"
            )
        self._starting += 1
        try:
            session = await PtySession.start(command, size=size, grace_seconds=self._grace, company=company)
        finally:
            self._starting -= 1
        self._last += 1
        self._sessions[self._last] = session
        return self._last

    def get(self, number: int) -> PtySession:
        """The session with this number."""
        try:
            return self._sessions[number]
        except KeyError:
            known = ", ".join(f"`{known}`" for known in self._sessions) or "none"
            raise NotFound(f"there is no session `{number}`", hint=f"open sessions: {known}") from None

    def numbers(self) -> tuple[int, ...]:
        """The numbers in use, oldest first."""
        return tuple(self._sessions)

    async def close(self, number: int) -> SessionStatus:
        """End a session and forget it."""
        session = self.get(number)
        try:
            return await session.close()
        finally:
            self._sessions.pop(number, None)

    async def close_all(self) -> None:
        """End every session, all at the same time."""
        async with asyncio.TaskGroup() as group:
            for number in self.numbers():
                group.create_task(self.close(number))

    def _forget_ended(self) -> None:
        for number, session in tuple(self._sessions.items()):
            if not session.status.running and not session.unread:
                del self._sessions[number]
