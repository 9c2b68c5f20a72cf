"""What the runtime and a supervisor say to each other, one JSON object a line."""

import json
import socket
from collections.abc import Mapping
from typing import Any


def tell(control: socket.socket, message: Mapping[str, Any]) -> None:
    """Send one message; a runtime that is gone needs none."""
    try:
        control.sendall(json.dumps(message).encode() + b"\n")
    except (BrokenPipeError, ConnectionResetError):
        return


class Hearing:
    """Messages from the runtime, one JSON object a line."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._rest = b""
        self.over = False

    def first(self) -> "dict[str, Any] | None":
        """Wait for a whole request with its inputs; nothing when the runtime has gone before it was complete."""
        while b"\n" not in self._rest:
            if not self._wait():
                return None
        line, _, self._rest = self._rest.partition(b"\n")
        request = json.loads(line)
        whole = sum(request["inputs"])
        while len(self._rest) < whole:
            if not self._wait():
                return None
        lengths, request["inputs"] = request["inputs"], []
        for length in lengths:
            request["inputs"].append(self._rest[:length])
            self._rest = self._rest[length:]
        return request

    def _wait(self) -> bool:
        """Take what comes next; false when the runtime has gone."""
        try:
            piece = self._control.recv(1 << 16)
        except ConnectionResetError:
            return False
        self._rest += piece
        return bool(piece)

    def more(self) -> "list[dict[str, Any]]":
        """The messages that have arrived since."""
        try:
            piece = self._control.recv(1 << 16, socket.MSG_DONTWAIT)
            self.over = not piece
        except BlockingIOError:
            piece = b""
        except ConnectionResetError:
            piece, self.over = b"", True
        *lines, self._rest = (self._rest + piece).split(b"\n")
        return [json.loads(line) for line in lines]
