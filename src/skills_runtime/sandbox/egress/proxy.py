"""The egress proxy: takes connections from a listener that was handed to it, as many at once as the limits say."""

import asyncio
import errno
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from skills_runtime.sandbox.egress.checkpoint import Checkpoint
from skills_runtime.sandbox.egress.connection import serve_connection
from skills_runtime.sandbox.egress.record import EgressPorts

_CLIENT_GONE = (errno.ECONNABORTED, errno.EAGAIN, errno.EINTR, errno.EPROTO)
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
RETRY_SECONDS = 0.1


@asynccontextmanager
async def egress_proxy(listener: socket.socket, ports: EgressPorts) -> AsyncGenerator[None]:
    """Serve the listener while the block runs; afterwards it and every connection are closed.

    An error of a callback, such as a decision that cannot be recorded, ends the proxy at once: nothing passes any
    more, and the error is raised at the end of the block.
    """
    serving = asyncio.create_task(serve_egress(listener, ports))
    try:
        yield
    finally:
        serving.cancel()
        await asyncio.wait([serving])
        listener.close()  # a task that was cancelled before its first step could not do it
    if not serving.cancelled():
        serving.result()


async def serve_egress(listener: socket.socket, ports: EgressPorts) -> None:
    """Serve until cancelled, or until the listener is shut down and every connection has ended.

    Closes the listener and all connections before it returns.
    """
    checkpoint = Checkpoint(ports)
    places = asyncio.Semaphore(ports.limits.connections)
    try:
        listener.settimeout(0)
        async with asyncio.TaskGroup() as group:
            while True:
                await places.acquire()
                connection = await _accepted(listener)
                if connection is None:
                    break
                _start(group, connection, checkpoint, places)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        listener.close()
        await checkpoint.close()


def _start(
    group: asyncio.TaskGroup, connection: socket.socket, checkpoint: Checkpoint, places: asyncio.Semaphore
) -> None:
    def done(_: asyncio.Task[None]) -> None:
        connection.close()  # a task that was cancelled before its first step could not do it
        places.release()

    group.create_task(serve_connection(connection, checkpoint)).add_done_callback(done)


async def _accepted(listener: socket.socket) -> socket.socket | None:
    """The next connection, or nothing when the listener was shut down: then those there are come to their end."""
    while True:
        await _readable(listener)
        try:
            connection, _ = listener.accept()
        except OSError as error:
            if error.errno == errno.EINVAL:
                return None
            if error.errno in _EXHAUSTED:
                await asyncio.sleep(RETRY_SECONDS)
            elif error.errno not in _CLIENT_GONE:
                raise
        else:
            return connection


async def _readable(listener: socket.socket) -> None:
    """Return when somebody wants to connect; not `sock_accept`, which loses a connection when it is cancelled."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(listener, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(listener)
