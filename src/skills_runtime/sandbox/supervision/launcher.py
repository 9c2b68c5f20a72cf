"""A small process that forks supervisors, because the runtime itself must not fork.

It has one thread and little memory, so a fork is quick and safe, whatever the runtime has loaded.
"""

import gc
import os
import select
import signal
import socket
from typing import NoReturn

from . import process_tree
from .supervisor import adopt_orphans, send_message, supervise, wake_on_child_exit

# Close at least so many descriptors: the limit may have been lowered after some were opened.
MIN_OPEN_MAX = 1 << 16


def main() -> None:
    """Serve the runtime at the other end of standard input until it closes it or dies."""
    os.closerange(3, max(os.sysconf("SC_OPEN_MAX"), MIN_OPEN_MAX))
    os.setsid()
    os.chdir("/")  # so that this process keeps no file system busy
    # Orphans of a killed supervisor are re-parented to this process, which kills them.
    adopt_orphans()
    gc.disable()
    channel = socket.socket(fileno=os.dup(0))
    # Keep the first three numbers in use: a stream received later would get one and be overwritten by `dup2`.
    os.dup2(1, 0)
    _Launcher(channel).run()


class _Launcher:
    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._supervisors: set[int] = set()
        self._woken = wake_on_child_exit()

    def run(self) -> None:
        """Fork supervisors until the runtime is gone, then wait for those that still end commands."""
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        serving = True
        while serving or self._supervisors:
            for descriptor, _ in poll.poll():
                if descriptor == self._woken:
                    os.read(self._woken, 512)
                    self._reap()
                elif not self._serve():
                    poll.unregister(self._channel)
                    serving = False

    def _serve(self) -> bool:
        try:
            request, controls, _, _ = socket.recv_fds(self._channel, 1, 1)
        except ConnectionResetError:
            return False
        for control in controls:
            os.set_inheritable(control, False)  # noqa: FBT003 - it has no name
            with socket.socket(fileno=control) as connection:
                self._fork(connection)
        return bool(request)

    def _fork(self, control: socket.socket) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            send_message(control, {"failed": "fork", "errno": error.errno})
            return
        if pid == 0:
            self._supervise(control)
        self._supervisors.add(pid)

    def _supervise(self, control: socket.socket) -> NoReturn:
        try:
            self._channel.close()
            supervise(control)
        finally:
            # A forked copy must never continue as a launcher, not even after an error.
            os._exit(0)

    def _reap(self) -> None:
        orphaned = False
        try:
            while (reaped := os.waitpid(-1, os.WNOHANG))[0]:
                orphaned = orphaned or reaped[0] not in self._supervisors or reaped[1] != 0
                self._supervisors.discard(reaped[0])
        except ChildProcessError:
            return
        if orphaned:
            process_tree.send_signal(
                process_tree.find_descendants(process_tree.list_processes(), os.getpid(), without=self._supervisors),
                signal.SIGKILL,
            )
