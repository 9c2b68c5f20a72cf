"""What a call is going to do: the gate judges it, and whoever approves it is shown it."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Touch = Literal["read", "list", "create", "overwrite", "change", "delete"]


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
