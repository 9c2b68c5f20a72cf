"""The seams: what the engine needs from outside, as Protocols, with the values that cross them.

Adapters live in their own rooms; fakes for tests are in `skills_runtime.testing`.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from skills_runtime.events import Payload

Effect = Literal["read", "idempotent", "effectful"]
Recovery = Literal["retry", "ask_human", "fail"]
FileKind = Literal["file", "directory", "symlink", "special"]
DecisionKind = Literal["approved", "approved_for_session", "denied", "abort"]
InboxKind = Literal["steer", "answer", "approve", "cancel"]


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> str:
        """The current time as RFC 3339 in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...


class Ids(Protocol):
    """Where ids come from."""

    def new(self, kind: str) -> str:
        """A fresh id `<kind>_<32 hex>`."""
        ...


class Disk(Protocol):
    """The few system calls the log stands on, so that tests can make them fail."""

    def write(self, fd: int, data: bytes) -> int:
        """Append bytes; may write fewer than given."""
        ...

    def sync(self, fd: int) -> None:
        """Return only when the data is on stable storage."""
        ...

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file."""
        ...


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One use of a tool, as the model wrote it: `arguments` is its raw JSON text."""

    id: str
    name: str
    arguments: str


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a backend needs to answer one turn."""

    model: str
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    response_format: Mapping[str, Any] | None = None
    run_id: str = ""
    turn_id: str = ""
    extra: Mapping[str, Any] = {}


class ChatStreamEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of a streamed answer: `retry_scheduled`, `text_delta`, `tool_calls`, or `completed` at the end."""

    type: str
    text: str | None = None
    tool_calls: Sequence[ToolCall] | None = None
    finish_reason: str | None = None
    usage: Mapping[str, int] | None = None
    request_id: str | None = None
    provider: str | None = None
    retry: Mapping[str, Any] | None = None


class Backend(Protocol):
    """A model that streams answers."""

    def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream one answer; it is complete only when `completed` was seen."""
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
    """What becomes of a call that was under way when the runtime died; by default its effect decides."""
    timeout_sec: float | None = None
    """How long one call may take."""
    hidden_results: tuple[str, ...] = ()
    """Fields of the result for which the same holds."""


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


class FileEntry(Protocol):
    """One name in a directory, and what it stands for without following it."""

    @property
    def name(self) -> str:
        """The last part of its path."""
        ...

    @property
    def kind(self) -> FileKind:
        """What sort of thing it is."""
        ...

    @property
    def size(self) -> int:
        """How many bytes it has."""
        ...


class DirectoryListing(Protocol):
    """What is in a directory, sorted by name; `complete` is false when there is more."""

    @property
    def entries(self) -> Sequence[FileEntry]:
        """What was found."""
        ...

    @property
    def complete(self) -> bool:
        """Whether that is all."""
        ...


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """One file as it was and as it shall be."""

    path: str
    before_sha256: str | None
    """The digest of what is there; nothing means that the name must be free."""
    data: bytes | None
    """The whole new content; nothing means that the file is taken away."""
    moved_to: str | None = None
    """The new name of the file, which must be free."""


class Files(Protocol):
    """The files a run may touch; every operation is checked and recorded."""

    def read(self, path: str, *, limit: int) -> bytes:
        """The first `limit` bytes of a file."""
        ...

    def write(self, path: str, data: bytes, *, create_dirs: bool) -> int:
        """Replace a file atomically; returns the number of bytes."""
        ...

    def delete(self, path: str) -> None:
        """Move a file to the run's trash, where deleting is allowed at all."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Give a file another name; for the old name this is a delete."""
        ...

    def apply(self, changes: Sequence[FileChange]) -> None:
        """Make several changes, all of them or none."""
        ...

    def list(self, path: str) -> DirectoryListing:
        """What is in a directory."""
        ...

    def stat(self, path: str) -> FileEntry:
        """What a path leads to, without its content."""
        ...

    def for_call(self, call_id: str) -> "Files":
        """The same files, with every record naming a call."""
        ...


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

    def emit(self, payload: Payload) -> None:
        """Record an event on behalf of the call."""
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


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an approver is shown."""

    approval_key: str
    tool: str
    summary: str
    details: Mapping[str, Any] = {}


class Approver(Protocol):
    """Somebody, or some rule, that answers when the gate asks."""

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
        """Decide on one call."""
        ...


class InboxMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A durable message to a run."""

    id: str
    run_id: str
    position: int
    kind: InboxKind
    body: Mapping[str, Any]
    created_at: str


class Inbox(Protocol):
    """Durable, ordered, acknowledged and idempotent messages to runs."""

    def send(
        self, run_id: str, kind: InboxKind, body: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> InboxMessage:
        """Store a message; the same key returns the message stored before."""
        ...

    def pending(self, run_id: str) -> Sequence[InboxMessage]:
        """Messages not acknowledged yet, in order."""
        ...

    def acknowledge(self, message_id: str, *, event_seq: int) -> None:
        """Note that the run's log holds the message; harmless when repeated."""
        ...
