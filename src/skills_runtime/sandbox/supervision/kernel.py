"""The promises of the Linux kernel that Python has no function for."""

import ctypes
import os
import signal

IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""What a program that is started must hear again."""

_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, however it detached itself."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_CHILD_SUBREAPER, *(ctypes.c_ulong(value) for value in (1, 0, 0, 0))) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
