"""What a conversation is made of: messages, calls, and the skills in it, as plain values."""

from typing import Any, Literal

import msgspec

Phase = Literal["requested", "started"]


class Content(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Data as the log holds it, or the digest of the blob that holds it exactly."""

    data: Any = None
    blob: str | None = None


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A call the model made, and how far it came."""

    id: str
    tool: str
    arguments: Content
    valid: bool = True
    step_id: str = ""
    phase: Phase = "requested"
    effect: str = ""


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One entry of the conversation, in the order providers require."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    blob: str = ""
    """Where the text is when the log does not hold it."""
    images: tuple[dict[str, str], ...] = ()
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    result: Content | None = None
    pinned: bool = False
    """Survives compaction."""
    skill: str = ""
    """The skill whose text it is."""
    size: int = 0
    """How long the text in the blob is."""
    news: bool = False
    """Tells of skills that changed."""


class ActiveSkill(msgspec.Struct, frozen=True, omit_defaults=True):
    """A skill whose text the model has."""

    digest: str = ""
    arguments: str = ""
    path: str = ""
    """Its file, when it is one."""


class CalledSkill(msgspec.Struct, frozen=True, omit_defaults=True):
    """A skill that somebody called by name, for a run of its own to work on."""

    mention: str
    arguments: str = ""
