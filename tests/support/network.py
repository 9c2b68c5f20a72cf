"""Block network access of tests: only this machine can be reached."""

import ipaddress
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest


class NetworkRefused(RuntimeError):
    """A test tried to reach another machine."""


def is_local(family: int, address: Any) -> bool:
    """Return whether this address stays on this machine."""
    if family == socket.AF_UNIX:
        return True
    if family not in (socket.AF_INET, socket.AF_INET6):
        return False
    host = str(address[0]).partition("%")[0]
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def network_off() -> Generator[None]:
    """Make every connection to another machine fail with `NetworkRefused`."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
        yield


def _guarded(connect: Callable[[socket.socket, Any], Any]) -> Callable[[socket.socket, Any], Any]:
    def guarded(self: socket.socket, address: Any, /) -> Any:
        if not is_local(self.family, address):
            raise NetworkRefused(f"tests do not use the network, but something connected to `{address}`")
        return connect(self, address)

    return guarded
