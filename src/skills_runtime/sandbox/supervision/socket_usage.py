"""Memory in socket buffers, which belongs to no process: measured where no control group counts it."""

import ctypes
import fcntl
import os
import socket
import struct
import termios
from collections.abc import Iterator, Sequence
from contextlib import suppress

TABLES = ("tcp", "tcp6", "udp", "udp6")
QUEUES = 4
"""Table column with the bytes waiting to be sent and received."""
PIDFD_GETFD = 438
SO_MEMINFO = 55
MEMINFO = struct.Struct("9I")
DEFAULT_MAX_BUFFER = 64 << 20
"""Fallback for the buffer limit of one socket."""

_library = ctypes.CDLL(None, use_errno=True)


def _largest_buffer(*names: str) -> int:
    """Return the largest buffer these kernel settings allow."""
    largest = 0
    for name in names:
        try:
            with open(f"/proc/sys/net/{name}", "rb") as file:
                values = [int(value) for value in file.read().split()]
        except OSError:
            return DEFAULT_MAX_BUFFER
        # The kernel doubles a requested size (SO_SNDBUF), but not the size it grows to by itself.
        largest = max(largest, values[-1] * (2 if len(values) == 1 else 1))
    return largest


MAX_SOCKET_BYTES = _largest_buffer("core/rmem_max", "ipv4/tcp_rmem") + _largest_buffer("core/wmem_max", "ipv4/tcp_wmem")
"""Bytes that one socket can buffer."""


def estimate_socket_bytes(processes: "Sequence[int]") -> int:
    """Return a cheap upper bound of the buffers of the processes' sockets."""
    # The last are children, in the network namespace that the first have made.
    for process in reversed(processes):
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{process}/net/sockstat", "rb") as file:
            return int(file.readline().split()[2]) * MAX_SOCKET_BYTES
    return 0


def measure_socket_bytes(processes: "Sequence[int]") -> int:
    """Return how many bytes wait in the sockets of the processes.

    In a network namespace every internet socket counts, even one not yet accepted. Other sockets count if a process
    has them open, but not while one is passed between processes.
    """
    ours = _network("self")
    own = next((process for process in processes if _network(process) not in (ours, "")), None)
    internet = 0 if own is None else sum(_queued_bytes(own, table) for table in TABLES)
    sent = received = 0
    for connection in _open_sockets(processes):
        with connection, suppress(OSError):
            memory = MEMINFO.unpack(connection.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, MEMINFO.size))
            if connection.family == socket.AF_UNIX:
                # Waiting data counts for the sending socket, unless that is closed.
                sent += memory[2]
                received += int.from_bytes(fcntl.ioctl(connection, termios.FIONREAD, bytes(4)), "little")
            elif own is None:
                internet += memory[0] + memory[2]
    return internet + max(sent, received)


def _network(process: "int | str") -> str:
    try:
        return os.readlink(f"/proc/{process}/ns/net")  # noqa: PTH115 - nothing more is imported here
    except OSError:
        return ""


def _queued_bytes(process: int, table: str) -> int:
    try:
        with open(f"/proc/{process}/net/{table}", "rb") as file:
            queues = [line.split()[QUEUES].split(b":") for line in file if b":" in line.split()[QUEUES]]
    except (OSError, IndexError):
        return 0
    return sum(int(size, 16) for sizes in queues for size in sizes)


def _open_sockets(processes: "Sequence[int]") -> "Iterator[socket.socket]":
    """Yield a copy of each open socket of the processes."""
    visited: set[str] = set()
    for process in processes:
        with suppress(OSError):
            numbers = os.listdir(f"/proc/{process}/fd")  # noqa: PTH208 - nothing more is imported here
            handle = os.pidfd_open(process)
            try:
                for number in numbers:
                    with suppress(OSError):
                        name = os.readlink(f"/proc/{process}/fd/{number}")  # noqa: PTH115
                        if name.startswith("socket:") and name not in visited:
                            visited.add(name)
                            copy: int = _library.syscall(PIDFD_GETFD, handle, int(number), 0)
                            if copy >= 0:
                                yield socket.socket(fileno=copy)
            finally:
                os.close(handle)
