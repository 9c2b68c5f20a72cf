"""Mounts that are made before they are anywhere, and then put in their place, to which no link can lead.

For each mount there is a descriptor, so nothing has to be looked up twice, and nothing can be exchanged in between.
"""

import ctypes
import os

from .kernel import checked, library

READ_ONLY, NO_PRIVILEGES, NO_DEVICES, NO_PROGRAMS = 1, 2, 4, 8

_OPEN_TREE, _MOVE_MOUNT, _FSOPEN, _FSCONFIG, _FSMOUNT, _OPENAT2, _MOUNT_SETATTR = 428, 429, 430, 431, 432, 437, 442
"""Numbers of system calls, the same for every kind of processor."""
_HERE = -100
_EMPTY_PATH, _RECURSIVE, _CLONE = 0x1000, 0x8000, 1
_FROM_DESCRIPTOR_TO_DESCRIPTOR = 0x04 | 0x40
_FLAG, _STRING, _CREATE = 0, 1, 6
_WITHOUT_LINKS_AND_BELOW = 0x04 | 0x08
_SLAVE, _ALL_BELOW, _DETACH = 1 << 19, 1 << 14, 2


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("spread", ctypes.c_uint64),
        ("ids", ctypes.c_uint64),
    )


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def keep_to_oneself() -> None:
    """Let nothing that is mounted from now on be seen by others."""
    checked(library.mount(None, b"/", None, ctypes.c_ulong(_SLAVE | _ALL_BELOW), None))


def copy_of(source: bytes, restrictions: int, *, directory: int = _HERE) -> int:
    """A mount of what lies there, seen from a directory, with everything mounted in it."""
    made = _call(_OPEN_TREE, directory, source, _CLONE | os.O_CLOEXEC | _RECURSIVE)
    try:
        restrict(made, restrictions, below=True)
    except OSError:
        os.close(made)
        raise
    return made


def file_system(kind: bytes, restrictions: int, **settings: "bytes | None") -> int:
    """A new one of this kind; a setting without a value is only named."""
    context = _call(_FSOPEN, kind, 1)
    try:
        for name, value in settings.items():
            _call(_FSCONFIG, context, _FLAG if value is None else _STRING, name.encode(), value, 0)
        _call(_FSCONFIG, context, _CREATE, None, None, 0)
        return _call(_FSMOUNT, context, 1, restrictions)
    finally:
        os.close(context)


def restrict(mount: int, restrictions: int, *, below: bool = False) -> None:
    """Take rights away from a mount, and if wanted from those in it; none is ever given back."""
    attributes = _Attributes(restrictions, 0, 0, 0)
    flags = _EMPTY_PATH | (_RECURSIVE if below else 0)
    _call(_MOUNT_SETATTR, mount, b"", flags, ctypes.byref(attributes), ctypes.sizeof(attributes))


def attach(mount: int, place: int) -> None:
    """Put a mount in its place."""
    _call(_MOVE_MOUNT, mount, b"", place, b"", _FROM_DESCRIPTOR_TO_DESCRIPTOR)


def place_below(root: int, path: bytes) -> int:
    """The place with this path below a directory; a link on the way, or at its end, is an error."""
    how = _How(os.O_PATH | os.O_CLOEXEC, 0, _WITHOUT_LINKS_AND_BELOW)
    return _call(_OPENAT2, root, path, ctypes.byref(how), ctypes.sizeof(how))


def make_root(root: int) -> None:
    """Make this directory the root of everything, and leave nothing else to be seen."""
    os.fchdir(root)
    _call(_PIVOT_ROOT, b".", b".")
    checked(library.umount2(b".", _DETACH))
    os.chdir("/")


def _call(number: int, *values: object) -> int:
    return checked(library.syscall(number, *values))


_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}.get(os.uname().machine, -1)
