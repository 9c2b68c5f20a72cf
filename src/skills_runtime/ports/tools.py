"""Tools: what the model is told of them, what they get and what they give back; sub-agents are reached through them."""

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
    """Where a run that was begun by another stands."""

    id: str
    status: str
    """`running`, `completed`, `failed`, `cancelled` or `waiting_human`."""
    final_output: str | None = None
    error_kind: str | None = None
    profile_id: str = ""


class Children(Protocol):
    """The runs that one run has begun."""

    async def spawn(self, message: str, *, call_id: str, agent_type: str = "") -> ChildStatus:
        """Begin a run with this task; the same call begins one only once."""
        ...

    async def wait(self, ids: Sequence[str], *, timeout_ms: int | None = None) -> Sequence[ChildStatus]:
        """Where they stand once all have ended or wait for somebody, or the time is over."""
        ...

    async def send(self, child_id: str, message: str) -> ChildStatus:
        """Tell a run something it takes in at its next turn."""
        ...

    async def resume(self, child_id: str) -> ChildStatus:
        """Go on with a run that stopped before its end."""
        ...

    async def close(self, child_id: str) -> ChildStatus:
        """Stop a run; returns when it is gone."""
        ...


Effect = Literal["read", "idempotent", "effectful"]
Recovery = Literal["retry", "verify", "ask_human", "fail"]


class Parked(BaseException):
    """A call cannot go on before a person has acted; not an error, and no tool may swallow it."""


class Closeable(Protocol):
    """Something that has to be let go of."""

    def aclose(self) -> Awaitable[None]:
        """Let go; returns when everything is gone."""
        ...


ResourceT = TypeVar("ResourceT", bound=Closeable)


class Scope(Protocol):
    """What a run holds on to from one call to the next; closed when work on the run stops."""

    def hold(self, kind: type[ResourceT], make: Callable[[], ResourceT]) -> ResourceT:
        """The one thing of this kind, made when it is first asked for."""
        ...


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is told of a tool, and what the runtime needs to know of it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    effect: Effect = "effectful"
    hidden_arguments: tuple[str, ...] = ()
    """Arguments whose values events hold only as size and digest."""
    recovery: Recovery | None = None
    """What becomes of a call that was under way when the runtime died; by default its effect decides.

    `verify` asks the tool itself: see `VerifyingTool`.
    """
    timeout_sec: float | None = None
    """How long one call may take."""
    max_parallel: int | None = None
    """How many calls of this tool may run at the same time."""
    hidden_results: tuple[str, ...] = ()
    """Fields of the result for which the same holds."""
    listed: bool = True
    """Whether the model is told of it; one that is not can be called nevertheless."""
    example: Mapping[str, Any] = {}
    """Arguments of a typical call, for documentation and tests."""


class ToolResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The one envelope every tool answers with."""

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
        """The call this invocation belongs to."""
        ...

    @property
    def files(self) -> Files:
        """The run's files."""
        ...

    @property
    def run_id(self) -> str:
        """The run this call belongs to."""
        ...

    @property
    def idempotency_key(self) -> str:
        """The same each time this call is made, also after a crash: for services that ask for one."""
        ...

    @property
    def root(self) -> Path:
        """The directory processes start in."""
        ...

    @property
    def sandbox(self) -> Sandbox:
        """The fence for processes."""
        ...

    @property
    def secrets(self) -> Secrets:
        """What must not be shown."""
        ...

    @property
    def scope(self) -> Scope:
        """Things that live as long as the run is worked on."""
        ...

    @property
    def children(self) -> Children | None:
        """The runs this one may begin, if it may."""
        ...

    def emit(self, payload: Payload) -> None:
        """Record an event on behalf of the call."""
        ...

    def keep(self, data: bytes) -> str:
        """Keep bytes as a blob of the run; returns their digest."""
        ...

    async def confirm(self) -> None:
        """Raise unless the call would still do what was approved; called when nothing can change that any more."""
        ...

    async def may_reach(self, host: str, port: int) -> bool:
        """Whether somebody who is asked now lets the call reach a host; nobody, or no answer in time, is a no."""
        ...

    async def ask(self, *questions: Question) -> Mapping[str, str]:
        """Ask a person and return the answers by question id; the run may sleep for days before this returns."""
        ...


class Tool(Protocol):
    """A callable offered to the model."""

    @property
    def spec(self) -> ToolSpec:
        """Name, schema and effect."""
        ...

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Do it."""
        ...


class VerifyingTool(Tool, Protocol):
    """A tool with `recovery="verify"`: it can find out whether a call had its effect."""

    async def verify(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult | None:
        """The result of a call that was under way when the runtime died, or nothing when it had no effect yet."""
        ...


class DescribingTool(Tool, Protocol):
    """A tool that can tell beforehand what a call is going to do; of any other only the declared effect is known."""

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """What the call would do; quick, without effect, and raises `ToolError` where the call could not be made."""
        ...


class PreviewingTool(DescribingTool, Protocol):
    """A tool that can show beforehand what exactly a call would change."""

    async def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """The intent with diffs, digests and the fence, as things are now; whoever approves it approves that."""
        ...
