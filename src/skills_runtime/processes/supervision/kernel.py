"""The promise of the Linux kernel that Python has no function for."""

import ctypes
import os

_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, however it detached itself."""
    _control(_CHILD_SUBREAPER, 1)


# Loaded before the first fork, so that no child has to load anything.
_library = ctypes.CDLL(None, use_errno=True)


def _control(option: int, value: int) -> None:
    if _library.prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
