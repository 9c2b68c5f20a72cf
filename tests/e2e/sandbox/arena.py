"""A place to try escapes in: a workspace, things around it that must stay as they are, and who listens there.

Everything here is ours and harmless: marked files, a sleeping process, sockets on loopback.
"""

import asyncio
import ctypes
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from skills_runtime.ports import ProcessRequest
from skills_runtime.processes import Command, Finished, Limits, execute
from skills_runtime.sandbox import CAREFUL, OsSandbox, ResourceLimits, build_policy, find_adapters

PYTHON = "/usr/bin/python3"
LOADED = ThreadPoolExecutor
"""Python loads it at first use, when an ordinary user may have no right to read it any more."""
SECRET = "canary-secret-8c1f"
ORIGINAL = "as it was\n"
PRELUDE = '''
import ctypes, errno, json, os, signal, socket, stat, struct, subprocess, sys, time
print("STARTED", flush=True)
arena = json.loads(os.environ["ARENA"])
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    """A system call; raises when the kernel refuses."""
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
def reached(value=None):
    print("REACHED", value, flush=True)
def write(path, text="changed"):
    with open(path, "w") as file:
        file.write(text)
def read(path):
    with open(path, errors="replace") as file:
        return file.read()
'''


@dataclass(frozen=True)
class Outcome:
    """What an attempt printed, and how it ended."""

    finished: Finished
    stdout: str
    stderr: str

    @property
    def reached(self) -> bool:
        """Whether the attempt itself says that it got what it wanted."""
        return "REACHED" in self.stdout


@dataclass
class Arena:
    """The host around one attempt."""

    base: Path
    workspace: Path = field(init=False)
    outside: Path = field(init=False)
    received: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.workspace = self.base / "workspace"
        self.outside = self.base / "outside"
        self._resources = ExitStack()
        self._values: dict[str, object] = {}
        self._build()

    def _build(self) -> None:
        for directory in (self.workspace / "src", self.outside / "home/.ssh"):
            directory.mkdir(parents=True)
        self.workspace.chmod(0o755)
        (self.workspace / "file.txt").write_text(ORIGINAL)
        (self.outside / "file.txt").write_text(ORIGINAL)
        (self.outside / "home/.bashrc").write_text(ORIGINAL)
        (self.outside / "home/.ssh/id").write_text(SECRET)
        for name in (".env", ".env.local", "src/.env.production"):
            (self.workspace / name).write_text(f"KEY={SECRET}\n")
        runtime = self.workspace / ".skills_runtime_sdk/runtime"
        runtime.mkdir(parents=True)
        (runtime / "server.json").write_text(json.dumps({"secret": SECRET}))
        (self.workspace / ".vscode").mkdir()
        (self.workspace / ".vscode/tasks.json").write_text(ORIGINAL)
        (self.workspace / ".mcp.json").write_text(ORIGINAL)
        (self.workspace / ".bash_logout").write_text(ORIGINAL)  # so it is somebody's home as well
        for place in (self.workspace, self.workspace / "nested"):
            self._repository(place)

    def _repository(self, place: Path) -> None:
        place.mkdir(exist_ok=True)
        for directory in (".git/hooks", ".git/objects", ".git/refs/heads"):
            (place / directory).mkdir(parents=True)
        (place / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (place / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")

    def victim(self) -> int:
        """A process outside that an attempt may see or signal only if it escapes."""
        process = subprocess.Popen(
            ["/bin/sleep", "300"], env={"VICTIM": SECRET}, stdin=subprocess.DEVNULL, start_new_session=True
        )
        self._resources.callback(process.wait)
        self._resources.callback(process.kill)
        self._values["victim"] = process.pid
        self._victim = process
        return process.pid

    @property
    def victim_lives(self) -> bool:
        """Whether the process outside was left alone."""
        return self._victim.poll() is None

    def listen(self, name: str, family: int, kind: int, address: object) -> None:
        """Take what an attempt sends from within; where there is no such family, nobody can send either."""
        try:
            server = socket.socket(family, kind)
            server.bind(address)  # pyright: ignore[reportArgumentType]
        except OSError:
            self._values[name] = address if not isinstance(address, tuple) else [*address]
            return
        if kind != socket.SOCK_DGRAM:
            server.listen(5)
        bound = server.getsockname()
        self._values[name] = bound.decode("latin-1") if isinstance(bound, bytes) else bound
        threading.Thread(target=self._receive, args=(name, server, kind), daemon=True).start()
        self._resources.callback(server.close)
        self._resources.callback(_wake, server)

    def _receive(self, name: str, server: socket.socket, kind: int) -> None:
        with suppress(OSError):
            while True:
                if kind == socket.SOCK_DGRAM:
                    if server.recv(100):
                        self.received.append(name)
                else:
                    server.accept()[0].close()
                    self.received.append(name)

    def shared_memory(self) -> None:
        """A System V segment with the secret in it."""
        library = ctypes.CDLL(None, use_errno=True)
        library.shmat.restype = ctypes.c_void_p
        key = 0x5AFE0000 | (os.getpid() & 0xFFFF)
        number = library.shmget(key, 4096, 0o1666)
        assert number >= 0
        address = library.shmat(number, None, 0)
        ctypes.memmove(address, SECRET.encode(), len(SECRET))
        self._resources.callback(library.shmctl, number, 0, None)
        self._values["shared_memory"] = key

    def tell(self, **values: object) -> None:
        """Let the attempt know something more."""
        self._values.update(values)

    def close(self) -> None:
        """End what this arena started."""
        self._resources.close()

    def values(self) -> str:
        """What an attempt is told about the place."""
        places = {"workspace": str(self.workspace), "outside": str(self.outside), "host_pid": os.getpid()}
        return json.dumps({**places, **self._values})

    def run(
        self,
        code: str,
        *,
        environment: Mapping[str, str] | None = None,
        limits: ResourceLimits = CAREFUL,
    ) -> Outcome:
        """Try something behind the fence that every command gets."""
        policy = build_policy("workspace-write", self.workspace, limits)
        fence = OsSandbox(policy, find_adapters("bubblewrap"), {}, state=state_beside(self.workspace))
        variables = {"ARENA": self.values(), **(environment or {})}
        request = ProcessRequest(
            argv=(PYTHON, "-I", "-S", "-c", PRELUDE + code), cwd=self.workspace, environment=variables
        )
        plan = fence.plan(request)
        command = Command(plan.argv, plan.cwd, plan.environment, setup=plan.setup)
        allowed = Limits(wall_seconds=limits.wall_seconds, grace_seconds=0.2, total_bytes=limits.output_bytes)
        finished = asyncio.run(execute(command, allowed))
        return Outcome(finished, finished.stdout.text(), finished.stderr.text())


def state_beside(workspace: Path) -> Path:
    """Where the runtime of a test keeps its records: outside the workspace, and not in the home of the user."""
    return workspace.with_name(f"{workspace.name}-state")


def _wake(server: socket.socket) -> None:
    with suppress(OSError):
        server.shutdown(socket.SHUT_RDWR)


def new_arena(parent: Path) -> Arena:
    """An arena below a directory; its path is real."""
    return Arena(Path(tempfile.mkdtemp(prefix="arena-", dir=parent)).resolve())


def end(pid: int) -> None:
    """End a process that a test started."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
