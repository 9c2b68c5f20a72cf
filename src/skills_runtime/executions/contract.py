"""The input and output format of a skill, and the messages that older clients know.

Pure: no files and no processes.
"""

import hashlib
import json
import math
from typing import Any

from skills_runtime.errors import ValidationFailed
from skills_runtime.executions.values import Failure

TOO_DEEP = "it is nested too deeply"
MAX_LEVELS = 500
"""Some JSON parsers read deeper nesting than they can write, so it is refused."""


def encode_input(value: Any, *, limit: int) -> bytes:
    """Encode the input of a skill as ASCII JSON; an empty input becomes an empty object."""
    try:
        text = json.dumps(value or {}, allow_nan=False).encode("ascii")
    except RecursionError:
        raise _too_deep() from None
    except (TypeError, ValueError) as error:
        raise ValidationFailed(f"the input cannot be written as JSON: {error}", hint="give a JSON value") from None
    if _is_too_deep(value, text.count(b"[") + text.count(b"{")):
        raise _too_deep()
    if len(text) > limit:
        raise ValidationFailed(
            f"the input is longer than {limit} bytes", hint="write it to a file and pass its path to the skill"
        )
    return text


def request_digest(skill: str, data: bytes) -> str:
    """Return the digest of skill and input that identifies a request, regardless of the order of its keys."""
    canonical = json.dumps([skill, json.loads(data)], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def resolve_timeout(requested: int | None, declared: int | None, *, default: int, longest: int) -> int:
    """Return the timeout in milliseconds: the caller's, then the skill's, then the default."""
    # A boolean is a mistake although Python counts it as an integer, and a value beyond the system clock would never
    # expire.
    if requested is not None and (isinstance(requested, bool) or not 1 <= requested <= longest):
        raise ValidationFailed(f"the time limit must be from 1 to {longest} ms", hint="give whole milliseconds")
    return min(requested or declared or default, longest)


def parse_output(data: bytes) -> tuple[Any, Failure | None]:
    """Parse the output of a skill; return the value, or the failure."""
    try:
        text = data.decode()
        if not text.strip():
            return None, empty_output()
        output = json.loads(text, parse_constant=_reject_constant, parse_float=_parse_finite)
    except RecursionError:
        return None, _invalid(TOO_DEEP)
    except ValueError as error:
        return None, _invalid(str(error))
    if _is_too_deep(output, text.count("[") + text.count("{")):
        return None, _invalid(TOO_DEEP)
    return (output, None) if output is not None else (None, empty_output())


def empty_output() -> Failure:
    """Return the failure for an empty output."""
    return Failure(code="empty_output", message="Skill returned empty output")


def _invalid(reason: str) -> Failure:
    return Failure(code="invalid_output", message=f"Invalid JSON output: {reason}")


def _too_deep() -> ValidationFailed:
    return ValidationFailed(f"the input cannot be written as JSON: {TOO_DEEP}", hint="give a flatter value")


def _is_too_deep(value: Any, openings: int) -> bool:
    """Return whether a value is nested too deeply; `openings`, the number of opening brackets, bounds the depth."""
    level: list[Any] = [value] if openings > MAX_LEVELS else []
    for _ in range(MAX_LEVELS):
        containers: list[Any] = [node.values() if isinstance(node, dict) else node for node in level]
        level = [inner for container in containers for inner in container if isinstance(inner, dict | list | tuple)]
        if not level:
            return False
    return True


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a value of JSON")


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is too large a number")
    return number


def digest(data: bytes) -> str:
    """Return the SHA-256 digest of bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
