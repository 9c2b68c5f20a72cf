"""What people are shown and say: what a call is going to do, approvals, questions and messages to a run."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import msgspec

from skills_runtime.errors import LogEnded, UsageError, ValidationFailed

DecisionKind = Literal["approved", "approved_for_session", "denied", "abort"]
InboxKind = Literal["steer", "answer", "approve", "cancel"]
Touch = Literal["read", "list", "create", "overwrite", "change", "delete"]


class Choice(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer that is offered."""

    label: str
    description: str = ""


class Question(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something only a person can say."""

    id: str = "answer"
    question: str
    header: str = ""
    choices: tuple[Choice, ...] = ()
    context: str = ""


class HumanIO(Protocol):
    """A person who can be asked right now."""

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        """What they answer."""
        ...


class FileTouch(msgspec.Struct, frozen=True, kw_only=True):
    """One file or directory a call would touch, and how."""

    path: str
    """As the call names it."""
    touch: Touch
    real: str = ""
    """Where the path really leads, when that is not how it is written."""
    before_sha256: str | None = None
    """The content it would replace, change or delete."""
    diff: str = ""
    """What would change, whole, for whoever decides."""


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """What a call is going to do, as far as its tool can tell; it is never written to the log as it is."""

    line: str | None = None
    """A line of shell."""
    argv: tuple[str, ...] = ()
    """A program and its arguments, run without a shell."""
    typed: str | None = None
    """What would be typed into something that already runs."""
    directory: str = "."
    """Where it would start."""
    environment: Mapping[str, str] = {}
    """The variables the call sets."""
    files: tuple[FileTouch, ...] = ()
    hosts: tuple[str, ...] = ()
    skill: str = ""
    """The skill whose action it is, as `namespace.name`."""
    digests: Mapping[str, str] = {}
    """What the arguments only name, such as a script, with the digest of its content: an approval holds for these."""
    fence: Mapping[str, Any] = {}
    """The command inside the fence, and what the fence promises."""
    escalated: bool = False
    """Whether the call asks for more than the fence allows."""
    justification: str = ""
    """Why the model says it is needed."""


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an approver is shown: the exact call, what asked, how bad it could be, and the fence around it."""

    approval_key: str
    tool: str
    summary: str
    details: Mapping[str, Any] = {}
    """The arguments as they are."""
    approval_id: str = ""
    run_id: str = ""
    call_id: str = ""
    rule: str = ""
    """What asked."""
    why: str = ""
    """The justification of that rule."""
    risk: Mapping[str, str] = {}
    """`level`, `reason` and the `part` of the call that is the reason."""
    intent: Intent = Intent()
    workspace: str = ""
    """The directory it would work in."""
    expires_at: str = ""


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an approver decided, with everything they may add to it."""

    decision: DecisionKind
    note: str = ""
    """What they say about it; the model reads why a call was denied."""
    decided_by: str = ""
    rule: Mapping[str, Any] = {}
    """A rule to add, with its `scope`: `run`, `skill` or `user`."""
    arguments: Mapping[str, Any] | None = None
    """The arguments as they changed them."""


class Approver(Protocol):
    """Somebody, or some rule, that answers when the gate asks; whoever raises `Parked` leaves it for later."""

    async def request_approval(
        self, *, request: ApprovalRequest, timeout_ms: int | None = None
    ) -> DecisionKind | Decision:
        """Decide on one call."""
        ...


@runtime_checkable
class TimedApprover(Approver, Protocol):
    """One who raises `TimeoutError` by itself: the time begins when somebody sees the request, not when it is made."""

    keeps_time: bool


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


class KeyTaken(ValidationFailed):
    """Another message was sent under the same idempotency key."""


class InboxClosed(UsageError):
    """A run that ends takes no more messages; of the family that a model is told of, for runs write to each other."""

    kind = LogEnded.kind
    default_hint: ClassVar[str] = LogEnded.default_hint


@runtime_checkable
class ClosingInbox(Inbox, Protocol):
    """An inbox that a run can close when it ends: whoever comes later is refused instead of not being heard.

    Only who holds the lock of a run closes or opens its inbox. One that cannot be closed is looked into for the last
    time right before the end.
    """

    def close_for(self, run_id: str, *, unless_behind: int | None = None) -> Sequence[InboxMessage]:
        """The messages not acknowledged yet; no more are taken, unless one of these is behind a position.

        Both is one step: from then on `send` raises `InboxClosed`, except for a key whose message is stored already.
        """
        ...

    def open_for(self, run_id: str) -> None:
        """Take messages again; harmless when it is open."""
        ...
