"""The network of one sandboxed command: take its listening socket out of the sandbox and serve it.

A socket created inside is passed out over a channel, so the proxy accepts connections from inside while the sandbox
has no other way out. `inside/network.py` is the first program inside; it is passed as an input of the sandbox.
"""

import asyncio
import os
import socket
import struct
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from skills_runtime.errors import SandboxError
from skills_runtime.ports import Egress
from skills_runtime.sandbox.egress.proxy import serve_egress
from skills_runtime.sandbox.egress.records import Asker, EgressLimits, EgressPorts, Recorder, Resolver
from skills_runtime.sandbox.egress.rules import EgressPolicy, allow_rule, deny_rule
from skills_runtime.sandbox.inside import network as inside

PROXY_PORT = 3128
HANDOVER_SECONDS = 10.0
_SO_NETNS_COOKIE = 71
_HINT = "look at the error output of the command; `skills-runtime sandbox doctor` tells what works here"
INTERPRETERS = ("/usr/bin/python3", "/usr/local/bin/python3")
MAX_SOURCE = 65536
_BOOT = "import os;s=os.read({number},{most});os.close({number});exec(s)"
DRAIN_SECONDS = 0.5
"""Time connections get to end by themselves after the command has ended."""
# Served inside the sandbox itself: these never leave it, unless a rule names one.
LOCAL = ("localhost", "127.0.0.1", "::1")
_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


class EgressCallbacks(msgspec.Struct, frozen=True, kw_only=True):
    """Callbacks that record each decision and ask about a host no rule names; without `ask` it is denied."""

    record: Recorder
    ask: Asker | None = None
    resolve: Resolver | None = None
    limits: EgressLimits = EgressLimits()


class Gateway:
    """Pass `descriptors` to a command, serve it after `start`, release everything in `close`.

    A proxy that fails lets nothing pass any more: `failure` has the reason, and `failed` is called.
    """

    def __init__(
        self, egress: Egress, egress_callbacks: EgressCallbacks, *, failed: Callable[[Exception], None] | None = None
    ) -> None:
        self._ports = EgressPorts(
            policy=compile_egress(egress),
            record=egress_callbacks.record,
            ask=egress_callbacks.ask if egress.unknown == "ask" else None,
            resolve=egress_callbacks.resolve,
            limits=egress_callbacks.limits,
        )
        self._on_failure = failed
        self._handover = Handover()
        self._listener: socket.socket | None = None
        self._serving: asyncio.Task[None] | None = None
        self.failure: Exception | None = None

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Return the descriptors the command inherits, numbered after the inputs of its sandbox."""
        return (self._handover.descriptor,)

    def start(self) -> None:
        """Start serving; call this after the descriptors were passed on."""
        self._handover.release_sandbox_end()
        self._serving = asyncio.create_task(self._serve(), name="egress proxy")
        self._serving.add_done_callback(self._report_failure)

    async def close(self, *, drain: bool = False) -> None:
        """Stop the proxy and every connection; with `drain`, connections of a finished command get a moment to end."""
        serving = self._serving
        try:
            if serving is not None and drain:
                self._stop_accepting()
                await asyncio.wait([serving], timeout=DRAIN_SECONDS)
        finally:
            self._handover.close()
            if serving is not None:
                await _cancel_and_wait(serving)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(drain=kind is None)

    async def _serve(self) -> None:
        try:
            self._listener = await self._handover.receive_listener()
            self._handover.allow_start()
            await serve_egress(self._listener, self._ports)
        finally:
            # A command that still waits for permission to start must not hang.
            self._handover.close()

    def _stop_accepting(self) -> None:
        # Makes the proxy end with its last connection; a proxy without a network notices by itself.
        if self._listener is not None:
            with suppress(OSError):  # it may be closed already
                self._listener.shutdown(socket.SHUT_RDWR)

    def _report_failure(self, serving: asyncio.Task[None]) -> None:
        error = None if serving.cancelled() else serving.exception()
        if error is not None:
            self.failure = error if isinstance(error, Exception) else SandboxError(f"the proxy failed: {error!r}")
            if self._on_failure is not None:
                self._on_failure(self.failure)


async def _cancel_and_wait(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end, ignoring cancellation meanwhile; re-raise it afterwards."""
    cancelled = False
    while not task.done():
        task.cancel()
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError


class Handover:
    """The channel between a starting sandbox and its proxy.

    Let the sandbox inherit `descriptor`, start `argv(...)` in it, call `started()`, take the `listener()`, serve
    it, and call `allow_start()`. Leaving the `with` block earlier ends the sandbox's start.
    """

    def __init__(self, port: int = PROXY_PORT) -> None:
        self._port = port
        self._host_end, self._sandbox_end = socket.socketpair()
        self._host_end.settimeout(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close both ends; a sandbox that still waits for permission to start ends."""
        self._host_end.close()
        self._sandbox_end.close()

    @property
    def descriptor(self) -> int:
        """Return the descriptor that the sandbox inherits."""
        return self._sandbox_end.fileno()

    def argv(
        self, command: Sequence[str], interpreter: str = "/usr/bin/python3", *, descriptor: int | None = None
    ) -> tuple[str, ...]:
        """Return the command line to run inside, with an interpreter that is visible there; it executes the command.

        `descriptor` is the inherited number of the sandbox's end, if it differs there.
        """
        number = self.descriptor if descriptor is None else descriptor
        return (interpreter, "-I", "-S", "-c", _source(), str(number), str(self._port), *command)

    def release_sandbox_end(self) -> None:
        """Close the sandbox's end here, so that its death is noticed."""
        self._sandbox_end.close()

    async def receive_listener(self, seconds: float = HANDOVER_SECONDS) -> socket.socket:
        """Return the listening socket from inside; raise if none arrives or it is not suitable."""
        try:
            async with asyncio.timeout(seconds):
                loop = asyncio.get_running_loop()
                ready = asyncio.Event()
                loop.add_reader(self._host_end, ready.set)
                try:
                    await ready.wait()
                finally:
                    loop.remove_reader(self._host_end)
            message, descriptors, flags, _ = socket.recv_fds(self._host_end, 1, 1, socket.MSG_CMSG_CLOEXEC)
        except TimeoutError as error:
            raise SandboxError(f"the sandbox created no network within {seconds:g} seconds", hint=_HINT) from error
        except OSError as error:
            raise SandboxError(f"the sandbox passed no network socket: {error}", hint=_HINT) from error
        if message != inside.READY or len(descriptors) != 1 or flags & socket.MSG_CTRUNC:
            for descriptor in descriptors:
                os.close(descriptor)
            raise SandboxError("the sandbox ended before it had a network", hint=_HINT)
        return self._check_listener(socket.socket(fileno=descriptors[0]))

    def allow_start(self) -> None:
        """Let the command start; ignored if it has died meanwhile."""
        try:
            self._host_end.send(inside.GO)
        except (BrokenPipeError, ConnectionResetError):
            return

    def _check_listener(self, listener: socket.socket) -> socket.socket:
        problem = find_listener_problem(listener, self._port)
        if problem:
            listener.close()
            raise SandboxError(f"the socket from the sandbox cannot be used: {problem}", hint=_HINT)
        return listener


def find_listener_problem(listener: socket.socket, port: int) -> str:
    """Return why a socket is not a listener in a separate network namespace; None if it is."""
    if listener.family != socket.AF_INET or listener.type != socket.SOCK_STREAM:
        return "it is not one for TCP"
    if not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return "it does not listen"
    if listener.getsockname() != ("127.0.0.1", port):
        return "it listens at another place"
    with socket.socket() as connection:
        if _network_cookie(listener) == _network_cookie(connection) != 0:
            return "it is in the network of this machine, where every user could use it"
    return ""


def _network_cookie(connection: socket.socket) -> int:
    """Return the network namespace cookie of a socket; zero where the kernel cannot tell."""
    try:
        return struct.unpack("Q", connection.getsockopt(socket.SOL_SOCKET, _SO_NETNS_COOKIE, 8))[0]
    except OSError:
        return 0


@cache
def _source() -> str:
    return Path(inside.__file__).read_text(encoding="utf-8")


def build_stage_command(
    command: Sequence[str], interpreter: str, *, source: int, port: int = PROXY_PORT
) -> tuple[str, ...]:
    """Return the command line of the stage program, read from `source`; its channel is the next descriptor."""
    boot = _BOOT.format(number=source, most=MAX_SOURCE)
    return (interpreter, "-I", "-S", "-c", boot, str(source + 1), str(port), *command)


@cache
def stage_source() -> bytes:
    """Return the source of the stage program."""
    return Path(inside.__file__).read_bytes()


def find_interpreter(home: Path | None) -> str | None:
    """Find a Python that is visible inside the sandbox; `home` is the runtime's own installation, if any."""
    own = () if home is None else (f"{home}/bin/python3",)
    return next((path for path in (*INTERPRETERS, *own) if os.access(path, os.X_OK)), None)


def compile_egress(egress: Egress) -> EgressPolicy:
    """Compile the user's rules; raise `ValidationFailed` for an invalid one."""
    return EgressPolicy(
        allow=(
            *(allow_rule(text) for text in egress.allow),
            *(allow_rule(text, private="allowed") for text in egress.allow_private),
        ),
        deny=tuple(deny_rule(text) for text in egress.deny),
    )


def proxy_variables(port: int = PROXY_PORT, *, rule_hosts: Collection[str] = ()) -> dict[str, str]:
    """Return the proxy variables of a sandboxed process, in upper and lower case since programs disagree.

    `named` are the hosts of rules: these go through the proxy even if they are local names. `ALL_PROXY` uses HTTP
    too, because some clients refuse to start with a SOCKS address whose library they lack. The same port speaks
    SOCKS5 for programs configured to use it.
    """
    address = f"http://127.0.0.1:{port}"
    variables = dict.fromkeys(_PROXY_VARIABLES, address) | {
        "NO_PROXY": ",".join(host for host in LOCAL if host not in rule_hosts)
    }
    lowered = {name.lower(): value for name, value in variables.items()}
    return variables | lowered | {"NODE_USE_ENV_PROXY": "1"}
