"""A thousand clients of one run in a separate process, as cheap as possible because they are not measured.

They use HTTP/1.0, so all get the same bytes, event for event; one stores them, the others hash them.
"""

import asyncio
import json
import re
import resource
import sys
import zlib

ALIVE = b": alive\n\n"
_ID = re.compile(rb"^id: (\d+)$", re.MULTILINE)


class Follower(asyncio.Protocol):
    """A client that reads until the server disconnects."""

    def __init__(self, run_id: str, kept: list[bytes] | None, done: "asyncio.Future[tuple[int, int]]") -> None:
        self._run_id = run_id
        self._kept = kept
        self._done = done
        self._head: bytes | None = b""
        self._size = self._sum = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(f"GET /api/v1/runs/{self._run_id}/events/stream HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        if self._head is not None:
            self._head += data
            head, ended, data = self._head.partition(b"\r\n\r\n")
            if not ended:
                return
            if b" 200 " not in head[:20]:
                self._done.set_exception(AssertionError(head.decode()))
            self._head = None
        data = data.replace(ALIVE, b"")
        self._size += len(data)
        self._sum = zlib.crc32(data, self._sum)
        if self._kept is not None:
            self._kept.append(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_result((self._size, self._sum))


async def follow(port: int, run_id: str, listeners: int) -> tuple[list[int], int]:
    """Return the event numbers that one client received, in order, and how many clients received the same bytes."""
    loop = asyncio.get_running_loop()
    done: list[asyncio.Future[tuple[int, int]]] = [loop.create_future() for _ in range(listeners)]
    kept: list[bytes] = []
    for number, one in enumerate(done):
        here = kept if number == 0 else None
        await loop.create_connection(lambda one=one, here=here: Follower(run_id, here, one), "127.0.0.1", port)
    got = await asyncio.gather(*done)
    return [int(number) for number in _ID.findall(b"".join(kept))], sum(one == got[0] for one in got)


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(json.dumps(asyncio.run(follow(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))))
