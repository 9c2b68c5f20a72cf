"""The first process behind a fence: puts it up from the inside, starts the command and waits for its end.

It is a copy of a supervisor, made with namespaces of its own. It gives up every right before the command begins, shows
nothing of what it knows, and when it ends the kernel ends everything behind the fence.
"""

import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, NoReturn

from .blueprint import Frame, Step
from .ground import Ground
from .kernel import IGNORED_BY_PYTHON, SPACES, checked, control, library
from .orders import Order, Silence, Talk

NAME = b"fence"
NO_PROGRAM = 1
"""How the fence ends when the command cannot begin, as bubblewrap does."""
SIGNALLED = 128
ADMINISTRATOR = 0
USUAL_PATH = b"/bin:/usr/bin"
"""Where a program is looked for when nobody says where."""

_CLOSE_RANGE = 436
_DEATH_SIGNAL, _DUMPABLE, _NAME, _SECCOMP, _DROP_BOUND, _NO_NEW_PRIVILEGES = 1, 4, 15, 22, 24, 38
_FILTER = 2
_INSTRUCTION = 8
_CAPABILITIES = (ctypes.c_uint32 * 2)(0x20080522, 0)
_NONE = (ctypes.c_uint32 * 6)()
_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41


class Origin(NamedTuple):
    """Where a first process comes from: user and group of the machine, and where its arguments are in memory."""

    user: int
    group: int
    arguments: "tuple[int, int]"


class _Arrived(NamedTuple):
    """What is there before anything is asked for: where the system tells of this process, kinds of rights, a ground."""

    own: int
    rights: int
    ground: Ground


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def keep(frame: Frame, origin: Origin, talk: Talk) -> NoReturn:
    """Do all of it, and end as the command has ended; what prevents a fence is told to the supervisor."""
    _close_all(3, talk.descriptor - 1)
    _close_all(talk.descriptor + 1)
    try:
        arrived = _arrive(frame, origin)
        order = talk.hear()
        program = _enclose(frame, order, arrived.own, arrived.ground)
        talk.tell_ready()
    except OSError as error:
        talk.tell_failure(error)
        os._exit(NO_PROGRAM)
    try:
        _give_up_rights(talk.hear_filter(), origin.arguments, arrived.rights)
        _follow(program, order)
    except Silence:  # somebody else may be writing there by now
        os._exit(NO_PROGRAM)
    except OSError as error:
        os.write(order.streams[2], b"sandbox: %s: %s\n" % (order.argv[0], (error.strerror or "").encode()))
        os._exit(NO_PROGRAM)


def _arrive(frame: Frame, origin: Origin) -> _Arrived:
    """Take possession of the namespaces."""
    control(_DEATH_SIGNAL, signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    own = os.open("/proc/self", os.O_PATH | os.O_CLOEXEC)
    _write("setgroups", b"deny", own)
    # Some file systems insist on there being an administrator.
    _become(own, (ADMINISTRATOR, origin.user), (ADMINISTRATOR, origin.group))
    _write("/proc/sys/user/max_user_namespaces", b"1")
    if "net" in frame.namespaces:
        _loop_back()
    ground = Ground()
    _lay(ground, frame.ground)
    return _Arrived(own, _kinds_of_rights(), ground)


def _lay(ground: Ground, steps: "Sequence[Step]") -> None:
    """Take steps, with the modes that they say and as many descriptors as a large workspace needs."""
    mask = os.umask(0)
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    ground.lay(steps)
    resource.setrlimit(resource.RLIMIT_NOFILE, (usual, most))
    os.umask(mask)


def _enclose(frame: Frame, order: Order, own: int, ground: Ground) -> bytes:
    """Put up everything that needs rights, and return where the program is then."""
    if order.sacrifice:
        with suppress(OSError):  # whoever began this may be wanted less already
            _write("oom_score_adj", order.sacrifice, own)
    checked(library.sethostname(order.host, len(order.host)))
    _lay(ground, order.steps)
    ground.enter()
    # Behind a second door nobody owns the mounts, nor may they make another one.
    checked(library.unshare(SPACES["user"]))
    control(_DUMPABLE, 1)
    _become(own, (frame.user, ADMINISTRATOR), (frame.group, ADMINISTRATOR))
    os.chdir(order.directory)
    control(_DEATH_SIGNAL, signal.SIGKILL)  # to gain rights was to lose it
    return _found(order.argv[0], order.variables)


def _close_all(first: int, last: int = (1 << 32) - 1) -> None:
    """Hold nothing that belongs to others."""
    if first <= last:
        checked(library.syscall(_CLOSE_RANGE, ctypes.c_uint(first), ctypes.c_uint(last), 0))


def _become(own: int, user: "tuple[int, int]", group: "tuple[int, int]") -> None:
    """Be seen under another number: the one inside, and the one outside."""
    _write("uid_map", b"%d %d 1" % user, own)
    _write("gid_map", b"%d %d 1" % group, own)


def _write(path: str, text: bytes, directory: "int | None" = None) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC, dir_fd=directory)
    os.write(descriptor, text)
    os.close(descriptor)


def _loop_back() -> None:
    """Let the command talk to itself, which is all the network it has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as interface:
        fcntl.ioctl(interface, _SET_FLAGS, b"lo".ljust(16, b"\0") + _UP_AND_RUNNING.to_bytes(24, "little"))


def _found(name: bytes, variables: "Mapping[bytes, bytes]") -> bytes:
    """Where the program is, as the command would look for it."""
    directories = [b""] if b"/" in name else variables.get(b"PATH", USUAL_PATH).split(b":")
    for directory in directories:
        path = os.path.join(directory, name)
        if os.access(path, os.X_OK) and not os.path.isdir(path):  # noqa: PTH112 - nothing more is imported here
            return path
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)


def _give_up_rights(instructions: bytes, arguments: "tuple[int, int]", rights: int) -> None:
    """Keep nothing that the command must not have, and show it nothing."""
    control(_DUMPABLE, 0)
    start, length = arguments
    ctypes.memset(start, 0, length)
    ctypes.memmove(start, NAME, min(len(NAME), length))
    checked(library.prctl(_NAME, NAME, 0, 0, 0))
    control(_NO_NEW_PRIVILEGES, 1)
    for capability in range(rights):
        control(_DROP_BOUND, capability)
    checked(library.capset(_CAPABILITIES, _NONE))
    program = _Program(len(instructions) // _INSTRUCTION, instructions)
    checked(library.prctl(_SECCOMP, _FILTER, ctypes.byref(program), 0, 0))


def _kinds_of_rights() -> int:
    """How many the kernel knows."""
    with open("/proc/sys/kernel/cap_last_cap", "rb", buffering=0) as file:
        return int(file.readall()) + 1


def _follow(program: bytes, order: Order) -> NoReturn:
    """Start the command, and end as it does; whoever is left then is ended by the kernel."""
    try:
        started = _spawn(program, order.argv, order)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        started = _spawn(b"/bin/sh", (b"/bin/sh", program, *order.argv[1:]), order)  # a script that does not say whose
    _close_all(3)
    while True:
        process, status = os.waitpid(-1, 0)
        if process == started:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else SIGNALLED - code)


def _spawn(program: bytes, argv: "tuple[bytes, ...]", order: Order) -> int:
    return os.posix_spawn(
        program,
        argv,
        {**order.variables, b"PWD": order.directory},
        file_actions=[(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(order.streams)],
        setsigdef=IGNORED_BY_PYTHON,
    )
