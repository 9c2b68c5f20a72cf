"""Methods of the server: a typed value for the parameters of each, and a function for its work."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from signal import Signals
from typing import Annotated, Any, Literal, Protocol

import msgspec
from msgspec import Meta

from skills_runtime.clock import RandomIds
from skills_runtime.errors import ConfigError, NotFound, ValidationFailed
from skills_runtime.ports import Children, ChildStatus, ProcessRequest
from skills_runtime.processes.command import shell_command
from skills_runtime.processes.server.protocol import Request
from skills_runtime.processes.server.sessions import Encoding, ServedSessions, SessionOutput
from skills_runtime.processes.terminals import DEFAULT_SIZE


class ServedChildren(Children, Protocol):
    """Child agents that are real runs and outlive their client."""

    @property
    def active(self) -> int:
        """Number of children at work."""
        ...

    def list(self) -> Sequence[ChildStatus]:
        """Return every child of this workspace, including those of earlier servers."""
        ...

    async def cancel_all(self) -> int:
        """Cancel the children at work, wait for them, and return their number."""
        ...

    async def aclose(self) -> None:
        """Stop the work on all children; they can be resumed."""
        ...


class NoChildren:
    """For a server that only has sessions."""

    @property
    def active(self) -> int:
        """Always 0."""
        return 0

    def list(self) -> Sequence[ChildStatus]:
        """Return nothing."""
        return ()

    async def cancel_all(self) -> int:
        """Do nothing."""
        return 0

    async def aclose(self) -> None:
        """Do nothing."""

    async def spawn(self, message: str, *, call_id: str, agent_type: str = "") -> ChildStatus:
        """Raise `ConfigError`."""
        raise _refusal()

    async def wait(self, ids: Sequence[str], *, timeout_ms: int | None = None) -> Sequence[ChildStatus]:
        """Raise `ConfigError`."""
        raise _refusal()

    async def send(self, child_id: str, message: str) -> ChildStatus:
        """Raise `ConfigError`."""
        raise _refusal()

    async def resume(self, child_id: str) -> ChildStatus:
        """Raise `ConfigError`."""
        raise _refusal()

    async def close(self, child_id: str) -> ChildStatus:
        """Raise `ConfigError`."""
        raise _refusal()


def _refusal() -> ConfigError:
    return ConfigError("this server has no child agents", hint="start it with `skills-runtime`")


MAX_WAIT_MS = 10 * 60 * 1000
DEFAULT_OUTPUT_BYTES = 1 << 16
MAX_OUTPUT_BYTES = 1 << 22

Milliseconds = Annotated[int, Meta(ge=0, le=MAX_WAIT_MS)]
OutputBytes = Annotated[int, Meta(ge=1, le=MAX_OUTPUT_BYTES)]


class Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of a method."""


class Spawn(Parameters, frozen=True, kw_only=True):
    """`exec.spawn`: a program with its arguments, or a shell line."""

    argv: tuple[str, ...] = ()
    cmd: str | None = None
    cwd: str = "."
    env: dict[str, str] = {}
    tty: bool = True
    """Accepted for older clients; there is always a terminal."""
    rows: int = DEFAULT_SIZE[0]
    columns: int = DEFAULT_SIZE[1]
    sandbox: Literal["inherit", "restricted"] = "inherit"


class SessionReference(Parameters, frozen=True, kw_only=True):
    """A session by its number."""

    session_id: int


class Read(SessionReference, frozen=True, kw_only=True):
    """`exec.read`."""

    yield_time_ms: Milliseconds = 50
    until_idle_ms: Milliseconds | None = None
    max_output_bytes: OutputBytes = DEFAULT_OUTPUT_BYTES
    encoding: Encoding = "text"


class Write(Read, frozen=True, kw_only=True):
    """`exec.write`: type, then read."""

    chars: str = ""


class Resize(SessionReference, frozen=True, kw_only=True):
    """`exec.resize`."""

    rows: int
    columns: int


class Signal(SessionReference, frozen=True, kw_only=True):
    """`exec.signal`: a name such as `SIGINT`, or a number."""

    signal: str | int


class CleanupOptions(Parameters, frozen=True, kw_only=True):
    """`runtime.cleanup`."""

    exec: bool = True
    children: bool = True


class ChildSpawn(Parameters, frozen=True, kw_only=True):
    """`collab.spawn`; a repeated `call_id` starts no second child."""

    message: Annotated[str, Meta(min_length=1)]
    agent_type: str = ""
    call_id: str | None = None


class ChildWait(Parameters, frozen=True, kw_only=True):
    """`collab.wait`."""

    ids: tuple[str, ...]
    timeout_ms: Annotated[int, Meta(ge=0)] | None = None


class Child(Parameters, frozen=True, kw_only=True):
    """A child by its id."""

    id: str


class ChildInput(Child, frozen=True, kw_only=True):
    """`collab.send_input`."""

    message: Annotated[str, Meta(min_length=1)]


Work = Callable[[Any], Awaitable[Any]]

CANCELLED_ON_DISCONNECT = frozenset({"exec.spawn", "exec.read", "exec.write", "collab.wait"})
"""Methods that are cancelled when their client disconnects; the others run to their end."""


class Methods:
    """Methods for sessions and children; the server adds those about itself."""

    def __init__(self, root: Path, sessions: ServedSessions, children: ServedChildren) -> None:
        self._root = root
        self._sessions = sessions
        self._children = children
        self._table: dict[str, tuple[type[Parameters], Work]] = {
            "exec.spawn": (Spawn, self._spawn),
            "exec.read": (Read, self._read),
            "exec.write": (Write, self._write),
            "exec.resize": (Resize, self._resize),
            "exec.signal": (Signal, self._signal),
            "exec.close": (SessionReference, self._close),
            "exec.close_all": (Parameters, self._close_all),
            "exec.list": (Parameters, self._list),
            "collab.spawn": (ChildSpawn, self._child_spawn),
            "collab.wait": (ChildWait, self._child_wait),
            "collab.send_input": (ChildInput, self._child_send),
            "collab.close": (Child, lambda child: self._children.close(child.id)),
            "collab.resume": (Child, lambda child: self._children.resume(child.id)),
            "collab.list": (Parameters, self._child_list),
            "runtime.cleanup": (CleanupOptions, self._clean),
        }

    def add(self, name: str, work: Work) -> None:
        """Add a method without parameters."""
        self._table[name] = Parameters, work

    async def call(self, request: Request) -> Any:
        """Decode the parameters and call the method."""
        if request.method not in self._table:
            methods = ", ".join(sorted(self._table))
            raise NotFound(f"there is no method `{request.method[:100]!a}`", hint=f"methods: {methods}")
        kind, work = self._table[request.method]
        try:
            parameters = msgspec.json.decode(request.params, type=kind)
        except msgspec.ValidationError as error:
            raise ValidationFailed(f"`{request.method}` does not accept this: {error}", hint="see the guide") from None
        except RecursionError:
            raise ValidationFailed(f"the parameters of `{request.method}` are nested too deeply") from None
        return await work(parameters)

    async def _spawn(self, spawn: Spawn) -> dict[str, Any]:
        if bool(spawn.argv) == (spawn.cmd is not None):
            raise ValidationFailed("a command is either `argv` or `cmd`", hint="give exactly one of them")
        request = ProcessRequest(
            argv=spawn.argv or shell_command(spawn.cmd or ""),
            cwd=(self._root / spawn.cwd).resolve(),
            environment=spawn.env,
            permissions=spawn.sandbox,
            terminal=True,
        )
        session = await self._sessions.spawn(request, size=(spawn.rows, spawn.columns))
        return {
            "session_id": session.number,
            "created_at_ms": session.created_at_ms,
            "running": True,
            "sandbox": session.evidence,
        }

    async def _read(self, parameters: Read) -> SessionOutput:
        return await self._sessions.read(
            parameters.session_id,
            wait_ms=parameters.yield_time_ms,
            limit=parameters.max_output_bytes,
            encoding=parameters.encoding,
            until_idle_ms=parameters.until_idle_ms,
        )

    async def _write(self, parameters: Write) -> dict[str, Any]:
        data = parameters.chars.encode(errors="surrogatepass")
        written = await self._sessions.write(parameters.session_id, data) if data else 0
        return {**msgspec.to_builtins(await self._read(parameters)), "written": written}

    async def _resize(self, resize: Resize) -> dict[str, Any]:
        self._sessions.resize(resize.session_id, resize.rows, resize.columns)
        return {"session_id": resize.session_id}

    async def _signal(self, signal: Signal) -> dict[str, Any]:
        name = signal.signal
        try:
            number = Signals[name] if isinstance(name, str) else Signals(name)
        except (KeyError, ValueError):
            raise ValidationFailed(f"there is no signal `{str(name)[:40]!a}`", hint="such as `SIGINT`") from None
        self._sessions.signal(signal.session_id, number)
        return {"session_id": signal.session_id}

    async def _close(self, parameters: SessionReference) -> SessionOutput:
        return await self._sessions.close(parameters.session_id)

    async def _close_all(self, parameters: Parameters) -> dict[str, Any]:
        del parameters
        return {"closed": await self._sessions.close_all()}

    async def _list(self, parameters: Parameters) -> dict[str, Any]:
        del parameters
        return {
            "sessions": [
                {
                    "session_id": session.number,
                    "argv": session.argv,
                    "running": session.running,
                    "created_at_ms": session.created_at_ms,
                }
                for session in self._sessions.all()
            ]
        }

    async def _clean(self, options: CleanupOptions) -> dict[str, Any]:
        closed = await self._sessions.close_all() if options.exec else 0
        cancelled = await self._children.cancel_all() if options.children else 0
        return {
            "ok": True,
            "exec": options.exec,
            "children": options.children,
            "closed_exec_sessions": closed,
            "cancelled_children": cancelled,
        }

    async def _child_spawn(self, spawn: ChildSpawn) -> Any:
        call_id = spawn.call_id or RandomIds().new("call")
        return await self._children.spawn(spawn.message, call_id=call_id, agent_type=spawn.agent_type)

    async def _child_wait(self, parameters: ChildWait) -> dict[str, Sequence[Any]]:
        return {"results": await self._children.wait(parameters.ids, timeout_ms=parameters.timeout_ms)}

    async def _child_send(self, parameters: ChildInput) -> Any:
        return await self._children.send(parameters.id, parameters.message)

    async def _child_list(self, parameters: Parameters) -> dict[str, Sequence[Any]]:
        del parameters
        return {"results": self._children.list()}
