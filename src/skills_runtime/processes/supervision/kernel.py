"""The promises of the Linux kernel that Python has no function for."""

import ctypes
import os
import signal

SPACES = {
    "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000, "pid": 0x20000000, "net": 0x40000000,
}  # fmt: skip
"""What a process can have for itself alone, and the bits by which that is asked for."""
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""What a program that is started must hear again."""

_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, however it detached itself."""
    control(_CHILD_SUBREAPER, 1)


def control(option: int, *values: int) -> None:
    """Change something about this process."""
    checked(library.prctl(option, *(ctypes.c_ulong(value) for value in values), *(0,) * (4 - len(values))))


def checked(result: int) -> int:
    """What the system answered, unless it refused."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


# Loaded before the first fork, so that no child has to load anything. It is called without letting go of Python's lock:
# a child that is born in a call must find everything as it was.
library = ctypes.PyDLL(None, use_errno=True)
