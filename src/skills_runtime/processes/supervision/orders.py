"""How a supervisor talks to the first process of a fence: an order, the answer that it is up, and then the filter."""

import errno
import marshal
import os
import socket
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .blueprint import KINDS, Blueprint, Step

READY = b"+"
STREAMS = 3
_LENGTH = 8
_PIECE = 1 << 16


class Order(NamedTuple):
    """What is to be put up, and the command that begins behind it with these streams."""

    steps: "Sequence[Step]"
    variables: "Mapping[bytes, bytes]"
    host: bytes
    directory: bytes
    argv: "tuple[bytes, ...]"
    sacrifice: bytes
    """How much rather than others it is to be killed when memory runs out; nothing leaves that as it is."""
    streams: "Sequence[int]"


class Silence(OSError):
    """The other side is not there any more."""


class Talk:
    """One end of the conversation."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    @property
    def descriptor(self) -> int:
        """By which it is held."""
        return self._connection.fileno()

    def order(self, blueprint: Blueprint, argv: "Sequence[bytes]", sacrifice: bytes, streams: "Sequence[int]") -> None:
        """Say what is to be done."""
        steps = [(KINDS.index(type(step)), *step) for step in blueprint.steps]
        text = marshal.dumps((steps, blueprint.variables, blueprint.host, blueprint.directory, tuple(argv), sacrifice))
        socket.send_fds(self._connection, [len(text).to_bytes(_LENGTH, "little")], streams)
        self._connection.sendall(text)

    def hear(self) -> Order:
        """Wait for an order."""
        head, streams, _, _ = socket.recv_fds(self._connection, _LENGTH, STREAMS)
        if head and len(streams) != STREAMS:  # there was no room for all
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        for stream in streams:
            os.set_inheritable(stream, False)  # noqa: FBT003 - it has no name
        steps, variables, host, directory, argv, sacrifice = marshal.loads(
            self._exactly(int.from_bytes(head or _gone(), "little"))
        )
        made: list[Step] = [KINDS[kind](*fields) for kind, *fields in steps]
        return Order(made, variables, host, directory, argv, sacrifice, streams)

    def tell_ready(self) -> None:
        """Say that everything is mounted."""
        self._connection.sendall(READY)

    def tell_failure(self, error: OSError) -> None:
        """Say that something is not possible, by the number that the system has for it, and where."""
        where = error.filename if isinstance(error.filename, bytes) else b""
        self._connection.sendall(b"%d %s" % (error.errno or errno.EIO, where))

    def hear_ready(self) -> None:
        """Wait for one or the other; a failure is raised here."""
        said = self._connection.recv(_PIECE) or _gone()
        if said != READY:
            number, _, where = said.partition(b" ")
            raise OSError(int(number), os.strerror(int(number)), where)

    def give_filter(self, instructions: bytes) -> None:
        """Hand over the last thing that is needed."""
        self._connection.sendall(len(instructions).to_bytes(_LENGTH, "little") + instructions)

    def hear_filter(self) -> bytes:
        """Wait for it."""
        return self._exactly(int.from_bytes(self._exactly(_LENGTH), "little"))

    def close(self) -> None:
        """Say nothing more."""
        self._connection.close()

    def _exactly(self, length: int) -> bytes:
        whole = b""
        while len(whole) < length:
            whole += self._connection.recv(length - len(whole)) or _gone()
        return whole


def _gone() -> bytes:
    raise Silence
