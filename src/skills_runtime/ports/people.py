"""Interaction with users: the intent of a call, approvals, questions, and messages to a run."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import msgspec

from skills_runtime.errors import LogEnded, UsageError, ValidationFailed

DecisionKind = Literal["approved", "approved_for_session", "denied", "abort"]
InboxKind = Literal["steer", "answer", "approve", "cancel"]
Touch = Literal["read", "list", "create", "overwrite", "change", "delete"]


class Choice(msgspec.Struct, frozen=True, omit_defaults=True):
    """One offered answer."""

    label: str
    description: str = ""


class Question(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question that only a user can answer."""

    id: str = "answer"
    question: str
    header: str = ""
    choices: tuple[Choice, ...] = ()
    context: str = ""


class HumanIO(Protocol):
    """A user who can be asked right now."""

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        """Ask the question and return the answer."""
        ...


class FileTouch(msgspec.Struct, frozen=True, kw_only=True):
    """One file or directory that a call would touch, and how."""

    path: str
    """As the call names it."""
    touch: Touch
    real: str = ""
    """The path with links resolved, if it differs."""
    before_sha256: str | None = None
    """The digest of the content that would be replaced, changed or deleted."""
    diff: str = ""
    """The complete diff, for the approver."""


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """What a call is going to do, as far as its tool can tell; it is never written to the log as it is."""

    line: str | None = None
    """A shell line."""
    argv: tuple[str, ...] = ()
    """A program and its arguments, run without a shell."""
    typed: str | None = None
    """Input for a running process."""
    directory: str = "."
    """The working directory."""
    environment: Mapping[str, str] = {}
    """The environment variables that the call sets."""
    files: tuple[FileTouch, ...] = ()
    hosts: tuple[str, ...] = ()
    skill: str = ""
    """The skill whose action it is, as `namespace.name`."""
    skill_digest: str = ""
    """Digest of the action and of everything in its skill; empty if it is unknown."""
    is_built_in: bool = False
    """Whether the skill is part of the runtime, and nothing in the workspace can change it."""
    digests: Mapping[str, str] = {}
    """Digests of contents that the arguments only name, such as a script: an approval is valid for these."""
    fence: Mapping[str, Any] = {}
    """The command in its sandbox, and the guarantees of the sandbox."""
    escalated: bool = False
    """Whether the call requests more than the sandbox allows."""
    justification: str = ""
    """The model's reason why it is needed."""


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an approver is shown: the exact call, the rule that asks, its risk and its sandbox."""

    approval_key: str
    tool: str
    summary: str
    details: Mapping[str, Any] = {}
    """The unredacted arguments."""
    approval_id: str = ""
    run_id: str = ""
    call_id: str = ""
    rule: str = ""
    """The rule that asks."""
    why: str = ""
    """The justification of that rule."""
    risk: Mapping[str, str] = {}
    """`level`, `reason` and the `part` of the call that causes it."""
    intent: Intent = Intent()
    workspace: str = ""
    """The working directory."""
    folder: str = ""
    """The workspace that a rule for this folder is limited to; empty in older requests."""
    expires_at: str = ""


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The decision of an approver, with everything they may add."""

    decision: DecisionKind
    note: str = ""
    """A comment of the approver; the model reads why a call was denied."""
    decided_by: str = ""
    rule: Mapping[str, Any] = {}
    """A rule to add, with its `scope`: `run`, `folder`, `skill` or `user`."""
    arguments: Mapping[str, Any] | None = None
    """The arguments as changed by the approver."""


class Approver(Protocol):
    """Decides on approval requests; raising `Parked` leaves the decision for later."""

    async def request_approval(
        self, *, request: ApprovalRequest, timeout_ms: int | None = None
    ) -> DecisionKind | Decision:
        """Decide on one call."""
        ...


@runtime_checkable
class TimedApprover(Approver, Protocol):
    """An approver that raises `TimeoutError` or `Parked` itself: the time starts when a user sees the request."""

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
        """Return the messages that are not acknowledged, in order."""
        ...

    def acknowledge(self, message_id: str, *, event_seq: int) -> None:
        """Record that the run's log holds the message; safe to repeat."""
        ...


class KeyTaken(ValidationFailed):
    """Another message was sent with the same idempotency key."""


class InboxClosed(UsageError):
    """A finishing run accepts no more messages; a `UsageError`, so that a model that sent one is told."""

    kind = LogEnded.kind
    default_hint: ClassVar[str] = LogEnded.default_hint


@runtime_checkable
class ClosingInbox(Inbox, Protocol):
    """An inbox that a finishing run can close, so that later messages are refused instead of ignored.

    Only the holder of a run's lock closes or opens its inbox. An inbox that cannot be closed is read one last time
    right before the end.
    """

    def close_for(self, run_id: str, *, unless_behind: int | None = None) -> Sequence[InboxMessage]:
        """Close the inbox unless a message is after a position, and return the unacknowledged messages.

        Both are one step: from then on `send` raises `InboxClosed`, except for a key whose message is already stored.
        """
        ...

    def open_for(self, run_id: str) -> None:
        """Accept messages again; safe to repeat."""
        ...
