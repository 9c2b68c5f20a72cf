"""Wait inside a sandbox and fork one child per execution; executions never share memory.

The source is passed to the interpreter as text, so it imports nothing from outside this directory. One execution runs
at a time. When it ends, every other process in the sandbox is killed and its files are removed; where that is not
certain, this process exits, which ends the sandbox.
"""

import ctypes
import gc
import json
import os
import resource
import select
import shutil
import signal
import socket
import stat
import sys
from contextlib import suppress
from typing import Any, NoReturn

from . import scripts

BUFFER_BYTES = 1 << 17
MAX_LEFTOVERS = 2000
"""With more leftover files than this, starting a new process is faster than removing them."""
SET_DUMPABLE, SET_CHILD_SUBREAPER = 4, 36
MAX_FIRST_PID = 2
TEMPORARY, SHARED, HOME = "/tmp", "/dev/shm", "/tmp/home"
IPC_TABLES = ("/proc/sysvipc/shm", "/proc/sysvipc/sem", "/proc/sysvipc/msg")
SCRIPT_FIELD_BYTES = 32
OUTSIDE, NOT_EXECUTED = 3, 127
NICENESS = 10
"""The niceness of executions, so that the HTTP service stays responsive."""

_mounts: "set[str]" = set()
"""Mount points below temporary directories; the skill's own directory may be one."""
_mount_parents: "set[str]" = {TEMPORARY, SHARED, HOME}
"""Parent directories of the mount points."""
_LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
_prctl = ctypes.CDLL(None, use_errno=True).prctl


def main() -> NoReturn:
    """Serve requests from the socket on standard input until it is closed."""
    if os.getppid() != 1 or os.getpid() > MAX_FIRST_PID:
        # Not alone in a PID namespace: killing every process would hit others.
        os._exit(OUTSIDE)
    control = socket.socket(fileno=os.dup(0))
    devnull = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for number in range(3):
        os.dup2(devnull, number)
    _find_mounts()
    _prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.nice(NICENESS)
    # Message queues would outlive their execution unseen.
    resource.setrlimit(resource.RLIMIT_MSGQUEUE, (0, 0))
    gc.freeze()
    control.send(b'{"ready": true}')
    initial = _fingerprint()
    buffer = bytearray(BUFFER_BYTES)
    while True:
        size, streams = _receive(control, buffer)
        if not size:
            os._exit(0)
        # Before a child exists: not dumpable, so that no child may inspect this process or take its descriptors.
        _prctl(SET_DUMPABLE, 0, 0, 0, 0)
        if not streams:
            # One byte is a late request to end an execution that has ended already.
            if size > 1:
                scripts.prepare(**json.loads(buffer[:size]))
            continue
        child = _start(buffer[:size], streams)
        for stream in streams:
            os.close(stream)
        buffer[:size] = bytes(size)  # the next child must not see it
        code = _wait_for_exit(control, child)
        usable = _is_clean() and _fingerprint() == initial
        control.send(json.dumps({"exited": code, "usable": usable}).encode())
        if not usable:
            os._exit(0)


def _receive(control: socket.socket, buffer: bytearray) -> "tuple[int, list[int]]":
    size, ancillary, _, _ = control.recvmsg_into([buffer], socket.CMSG_SPACE(12), socket.MSG_CMSG_CLOEXEC)
    data = b"".join(message[2] for message in ancillary)
    return size, [int.from_bytes(data[at : at + 4], sys.byteorder) for at in range(0, len(data), 4)]


def _wait_for_exit(control: socket.socket, child: int) -> int:
    """Return the exit code of the child once no process it started is left."""
    child_fd = os.pidfd_open(child)
    poll = select.poll()
    poll.register(child_fd, select.POLLIN)
    poll.register(control, select.POLLIN)
    code = None
    while code is None:
        for descriptor, _ in poll.poll():
            if descriptor == child_fd:
                code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            elif control.recv(16):
                os.kill(-1, signal.SIGKILL)
            else:
                os._exit(0)  # the client is gone; the sandbox ends with this process
    os.close(child_fd)
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return code


def _is_clean() -> bool:
    """Remove what the execution left in the sandbox; return False where something may remain."""
    try:
        for path in IPC_TABLES:
            with open(path, "rb") as file:
                if file.read().count(b"\n") > 1:
                    return False
        remaining = MAX_LEFTOVERS
        for directory in (TEMPORARY, SHARED):
            remaining = _empty_directory(directory, remaining)
    except (OSError, RecursionError):
        return False
    return True


def _empty_directory(directory: str, remaining: int) -> int:
    with os.scandir(directory) as entries:
        for entry in entries:
            remaining -= 1
            if remaining < 0:
                raise OSError
            if entry.path in _mounts:
                continue
            is_directory = entry.is_dir(follow_symlinks=False)
            if is_directory and entry.path in _mount_parents:
                remaining = _empty_directory(entry.path, remaining)
            elif is_directory:
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)  # noqa: PTH108 - avoids further imports
    return remaining


def _find_mounts() -> None:
    """Collect the mount points that must stay when temporary directories are emptied."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        paths = [line.split(" ")[4] for line in file]
    for path in paths:
        for escaped, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
            path = path.replace(escaped, character)
        if path.startswith((TEMPORARY + "/", SHARED + "/")):
            _mounts.add(path)
            while (path := os.path.dirname(path)) not in ("/", TEMPORARY, SHARED):  # noqa: PTH120
                _mount_parents.add(path)


def _fingerprint() -> object:
    """Return the state of this process that an execution, which runs as the same user, could have changed."""
    modes = [stat.S_IMODE(os.stat(path).st_mode) for path in sorted(_mount_parents)]  # noqa: PTH116
    limits = [resource.getrlimit(number) for number in _LIMITS]
    priority = os.getpriority(os.PRIO_PROCESS, 0)
    return modes, limits, priority, os.sched_getaffinity(0), os.sched_getscheduler(0)


def _start(message: bytearray, streams: "list[int]") -> int:
    """Start the execution and return its process id."""
    if b'"script": null' in message[:SCRIPT_FIELD_BYTES]:
        return _spawn(json.loads(message), streams)
    child = os.fork()
    if child == 0:
        _run_child(message, streams)
    return child


def _spawn(request: "dict[str, Any]", streams: "list[int]") -> int:
    """Spawn another program; it never sees this process's memory, so nothing needs to be copied."""
    os.chdir(request["cwd"])
    try:
        return os.posix_spawnp(
            request["argv"][0],
            request["argv"],
            {**os.environ, **request["environment"]},  # noqa: TID251 - its own
            file_actions=[(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(streams)],
            setpgroup=0,
            setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),
        )
    except OSError as error:
        os.write(streams[2], f"{request['argv'][0]}: {error.strerror}\n".encode())
        return os.posix_spawn("/bin/sh", ["sh", "-c", f"exit {NOT_EXECUTED}"], {})
    finally:
        os.chdir("/")


def _run_child(message: bytearray, streams: "list[int]") -> NoReturn:
    """Run the execution in the forked child and exit."""
    code = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.closerange(3, 4096)
        os.setpgid(0, 0)  # a session of its own would reset the priority (autogroup)
        request: dict[str, Any] = json.loads(bytes(message))
        os.environ.update(request["environment"])  # noqa: TID251 - its own
        os.chdir(request["cwd"])
        _prctl(SET_DUMPABLE, 1, 0, 0, 0)
        code = scripts.run(request["cwd"], request["script"])
    finally:
        os._exit(code)
