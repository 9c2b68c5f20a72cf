"""What the rules say of a call."""

from typing import Literal

import msgspec

SafetyMode = Literal["allow", "ask", "deny"]


class Allow(msgspec.Struct, frozen=True):
    """The call may run."""

    rule: str
    """What decided, in words for people; several things are joined by ` + `."""
    justification: str = ""


class Ask(msgspec.Struct, frozen=True):
    """Somebody must decide."""

    rule: str
    justification: str = ""


class Deny(msgspec.Struct, frozen=True):
    """The call must not run."""

    rule: str
    justification: str = ""


Verdict = Allow | Ask | Deny
