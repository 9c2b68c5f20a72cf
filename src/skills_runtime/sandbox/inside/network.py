"""First program inside a sandbox with a proxy: create the listening socket, pass it out, execute the command.

A socket stays in the network namespace it was created in, so the proxy outside accepts connections from inside
while the sandbox has no other way out. A bare interpreter runs this file alone: it imports as little as possible.
"""

import _socket
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    # Importing `signal` and `socket` would take half of a bare interpreter's start time.
    import _signal as signal

GO = b"G"
READY = b"L"
BACKLOG = 128
REFUSED, NOT_FOUND = 126, 127

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _UP = 0x8913, 0x8914, 1


def main(arguments: "list[str]") -> int:
    """Pass the listener over the channel, wait for permission to start, and execute the command."""
    channel = _socket.socket(fileno=int(arguments[0]))
    try:
        _hand_over(channel, int(arguments[1]))
        data = channel.recv(len(GO))
    except OSError as error:
        return _fail(f"the network of the sandbox could not be set up: {error}", REFUSED)
    finally:
        channel.close()
    if data != GO:
        return _fail("the network proxy of the sandbox did not start", REFUSED)
    return _become(arguments[2:])


def _hand_over(channel: "_socket.socket", port: int) -> None:
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        # Bring the loopback interface up if its creator has not, where that is permitted.
        import fcntl

        name = b"lo".ljust(16, b"\0")
        data = fcntl.ioctl(listener.fileno(), _SIOCGIFFLAGS, name + bytes(24))
        flags = int.from_bytes(data[16:18], sys.byteorder)
        if not flags & _UP:
            fcntl.ioctl(listener.fileno(), _SIOCSIFFLAGS, name + (flags | _UP).to_bytes(2, sys.byteorder) + bytes(22))
        listener.bind(("127.0.0.1", port))
        listener.listen(BACKLOG)
        number = listener.fileno().to_bytes(4, sys.byteorder)
        channel.sendmsg([READY], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, number)])
    finally:
        listener.close()


def _become(command: "list[str]") -> int:
    # Python ignores them, and children inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    _forget_coerced_locale()
    try:
        os.execvp(command[0], command)
    except FileNotFoundError:
        return _fail(f"{command[0]}: not found", NOT_FOUND)
    except OSError as error:
        return _fail(f"{command[0]}: {error.strerror}", REFUSED)


def _forget_coerced_locale() -> None:
    """Restore the environment: Python sets LC_CTYPE for itself in a C locale."""
    try:
        with open("/proc/self/environ", "rb") as file:
            inherited = any(line.startswith(b"LC_CTYPE=") for line in file.read().split(b"\0"))
    except OSError:
        return
    if not inherited:
        os.environ.pop("LC_CTYPE", None)  # noqa: TID251 - the command's own environment, passed on as it came


def _fail(message: str, code: int) -> int:
    os.write(2, f"sandbox: {message}\n".encode("utf-8", "surrogateescape"))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
