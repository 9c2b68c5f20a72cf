"""The tool port: specifications, contexts and results; sub-agents are reached through it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from skills_runtime.events import Payload
from skills_runtime.ports.files import Files
from skills_runtime.ports.people import Intent, Question
from skills_runtime.ports.sandbox import Sandbox
from skills_runtime.ports.system import Secrets


class ChildStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of a run that was started by another."""

    id: str
    status: str
    """`running`, `completed`, `failed`, `cancelled` or `waiting_human`."""
    final_output: str | None = None
    error_kind: str | None = None
    profile_id: str = ""


class Children(Protocol):
    """The child runs of a run."""

    async def spawn(self, message: str, *, call_id: str, agent_type: str = "") -> ChildStatus:
        """Start a run with this task; the same call starts only one."""
        ...

    async def wait(self, ids: Sequence[str], *, timeout_ms: int | None = None) -> Sequence[ChildStatus]:
        """Return their states once all have ended or wait for input, or the time is over."""
        ...

    async def send(self, child_id: str, message: str) -> ChildStatus:
        """Send a run a message for its next turn."""
        ...

    async def resume(self, child_id: str) -> ChildStatus:
        """Continue a run that stopped before its end."""
        ...

    async def close(self, child_id: str) -> ChildStatus:
        """Cancel a run; returns when it has stopped."""
        ...


Effect = Literal["read", "idempotent", "effectful"]
Recovery = Literal["retry", "verify", "ask_human", "fail"]
ToolApproval = Literal["pass", "ask"]


class Parked(BaseException):
    """A call waits for a user; not an error, and no tool may suppress it."""


class Undecided(Exception):
    """No decision was made while a command could wait; the message says why."""


class Closeable(Protocol):
    """A resource that has to be closed."""

    def aclose(self) -> Awaitable[None]:
        """Close it; returns when everything is released."""
        ...


ResourceT = TypeVar("ResourceT", bound=Closeable)


class Scope(Protocol):
    """Resources that a run keeps between calls; closed when the execution of the run stops."""

    def hold(self, kind: type[ResourceT], make: Callable[[], ResourceT]) -> ResourceT:
        """Return the resource of this type, created at first use."""
        ...


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is told about a tool, and what the runtime needs to know."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    effect: Effect = "effectful"
    hidden_arguments: tuple[str, ...] = ()
    """Arguments recorded in events only by size and digest."""
    recovery: Recovery | None = None
    """How a call is recovered that was in progress when the runtime died; by default its effect decides.

    `verify` asks the tool itself: see `VerifyingTool`.
    """
    timeout_sec: float | None = None
    """Timeout of one call."""
    max_parallel: int | None = None
    """Maximum number of concurrent calls of this tool."""
    hidden_results: tuple[str, ...] = ()
    """Result fields recorded in events only by size and digest."""
    listed: bool = True
    """Whether the tool is offered to the model; an unlisted one can still be called."""
    example: Mapping[str, Any] = {}
    """Arguments of a typical call, for documentation and tests."""
    approval: ToolApproval | None = None
    """`pass` for a function of the embedding program, which runs unless a rule objects; `ask` where every call asks.

    `None` means that the policy mode decides.
    """
    contained: bool = False
    """Whether the runtime contains its calls: commands run in the run's sandbox, files are those of the workspace."""


class ToolResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The common result envelope of all tools."""

    ok: bool
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    duration_ms: int = 0
    truncated: bool = False
    data: Mapping[str, Any] | None = None
    error_kind: str | None = None
    retryable: bool = False
    retry_after_ms: int | None = None


class ToolContext(Protocol):
    """What a tool may use while it runs."""

    @property
    def call_id(self) -> str:
        """Return the id of the call."""
        ...

    @property
    def files(self) -> Files:
        """Return the run's files."""
        ...

    @property
    def run_id(self) -> str:
        """Return the id of the run."""
        ...

    @property
    def idempotency_key(self) -> str:
        """Return a key that is the same whenever this call is made, also after a crash."""
        ...

    @property
    def root(self) -> Path:
        """Return the working directory of processes."""
        ...

    @property
    def sandbox(self) -> Sandbox:
        """Return the sandbox for processes."""
        ...

    @property
    def secrets(self) -> Secrets:
        """Return the secrets to redact."""
        ...

    @property
    def scope(self) -> Scope:
        """Return the resources that live as long as the run is being executed."""
        ...

    @property
    def children(self) -> Children | None:
        """Return the child runs, if the run may start any."""
        ...

    def emit(self, payload: Payload) -> None:
        """Record an event on behalf of the call."""
        ...

    def keep(self, data: bytes) -> str:
        """Store bytes as a blob of the run; return their digest."""
        ...

    async def confirm(self) -> None:
        """Raise unless the call would still do what was approved; called right before the effect."""
        ...

    async def may_reach(self, host: str, port: int) -> bool:
        """Ask whether the call may reach a host; raise `Undecided` without an approver or a decision in time."""
        ...

    async def ask(self, *questions: Question) -> Mapping[str, str]:
        """Ask the user and return the answers by question id; the run may be parked for days before this returns."""
        ...


class Tool(Protocol):
    """A tool offered to the model."""

    @property
    def spec(self) -> ToolSpec:
        """Return name, schema and effect."""
        ...

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Execute a call."""
        ...


class VerifyingTool(Tool, Protocol):
    """A tool with `recovery="verify"`: it can determine whether a call had its effect."""

    async def verify(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult | None:
        """Return the result of a call that was in progress when the runtime died, or nothing if it had no effect."""
        ...


class DescribingTool(Tool, Protocol):
    """A tool that can describe a call beforehand; of any other only the declared effect is known."""

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return what the call would do; quick, without effect, raises `ToolError` if the call is impossible."""
        ...


class PreviewingTool(DescribingTool, Protocol):
    """A tool that can show beforehand exactly what a call would change."""

    async def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the intent with diffs, digests and sandbox as of now; an approval covers exactly that."""
        ...
