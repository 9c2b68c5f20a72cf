"""The promise of the Linux kernel that Python has no function for."""

import ctypes
import os

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
