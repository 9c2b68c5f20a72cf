"""Which ids are legal: one rule for sessions, tasks and runs, because ids become file names."""

import re
from typing import NewType

from skills_runtime.errors import ValidationFailed

RunId = NewType("RunId", str)
SessionId = NewType("SessionId", str)
TaskId = NewType("TaskId", str)

LEGAL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")


def is_legal_id(value: str) -> bool:
    """Whether `value` may name a session, a task or a run."""
    return LEGAL_ID.match(value) is not None


def check_id(value: str, noun: str) -> str:
    """Return `value`, or refuse it by name."""
    if not is_legal_id(value):
        raise ValidationFailed(
            f"`{value[:80]}` is not a legal {noun} id",
            hint="use 1 to 128 letters, digits, `.`, `_` or `-`, beginning with a letter or digit",
        )
    return value
