"""Invoke a tool so that every outcome is one result that the log can hold and the model can read.

Secrets are redacted, and large values are stored as blobs beside the log.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import msgspec

from skills_runtime.errors import ApprovalDenied, LogError, SkillsRuntimeError, ToolError
from skills_runtime.ports import Clock, Secrets, Tool, ToolContext, ToolResult
from skills_runtime.text import well_formed

REDACTED = "redacted"


def redact_result(result: ToolResult, secrets: Secrets, keep: Callable[[bytes], str]) -> ToolResult:
    """Redact a result; the redacted one names the blob with the exact content."""
    exact = msgspec.json.encode(result)
    redacted_json = secrets.line(exact)
    if redacted_json is exact:
        return result
    redacted = msgspec.json.decode(redacted_json, type=ToolResult)
    return msgspec.structs.replace(redacted, data={**(redacted.data or {}), REDACTED: {"blob": keep(exact)}})


LIMIT = 64 * 1024
"""Bytes that a result holds of each stream and of the data."""
SMALL_VALUE = 1024
"""Bytes up to which a field stays in data that is too large as a whole."""
NOTE_BYTES = 160
"""Upper bound for the note between head and tail."""

SPILLED = "spilled"
MAX_CHARACTER_BYTES = 4

Keep = Callable[[bytes], str]


def spill_large_values(result: ToolResult, keep: Keep, *, limit: int = LIMIT) -> ToolResult:
    """Store everything larger than `limit` bytes as a blob and keep its two ends in the result."""
    blobs: dict[str, dict[str, Any]] = {}
    stdout = _text("stdout", result.stdout, limit, keep, blobs)
    stderr = _text("stderr", result.stderr, limit, keep, blobs)
    data = result.data
    if data is not None and ((bool(blobs) and SPILLED in data) or len(msgspec.json.encode(data)) > limit):
        encoded = msgspec.json.encode(data)
        blobs["data"] = {"blob": keep(encoded), "bytes": len(encoded)}
        data = _small_values(data, limit)
    if not blobs:
        return result
    return msgspec.structs.replace(
        result, stdout=stdout, stderr=stderr, data={**(data or {}), SPILLED: blobs}, truncated=True
    )


def _text(name: str, text: str, limit: int, keep: Keep, blobs: dict[str, dict[str, Any]]) -> str:
    """Return the text, or its two ends around a note if it is too large."""
    # Small enough without encoding it, as most results are.
    if len(text) * MAX_CHARACTER_BYTES <= limit:
        return text
    data = text.encode()
    if len(data) <= limit:
        return text
    digest = keep(data)
    blobs[name] = {"blob": digest, "bytes": len(data)}
    budget = max(limit - NOTE_BYTES, 0)
    # Drops a character that is cut in two; the text is valid, so nothing else is ignored.
    head = data[: budget - budget // 2].decode(errors="ignore")
    tail = data[len(data) - budget // 2 :].decode(errors="ignore")
    left_out = len(data) - len(head.encode()) - len(tail.encode())
    return f"{head}\n[… {left_out} of {len(data)} bytes left out; the full text is in blob {digest} …]\n{tail}"


def _small_values(data: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """Return the small fields up to half the limit, each complete or not at all."""
    budget = limit // 2
    small_values: dict[str, Any] = {}
    for name, value in data.items():
        size = len(msgspec.json.encode({name: value}))
        if name != SPILLED and size <= min(budget, SMALL_VALUE):
            small_values[name] = value
            budget -= size
    return small_values


T = TypeVar("T")


async def invoke(tool: Tool, arguments: Mapping[str, Any], context: ToolContext, *, clock: Clock) -> ToolResult:
    """Invoke a tool within its time limit and return the result; errors become results.

    The exceptions that stop or park the run are raised: `LogError`, `ApprovalDenied` where an approver stops the
    run, cancellation and `Parked`.
    """
    started = clock.monotonic()
    redacted = redact_result(await _invoke_with_timeout(tool, arguments, context), context.secrets, context.keep)
    result = spill_large_values(redacted, context.keep)
    elapsed = round((clock.monotonic() - started) * 1000)
    return msgspec.structs.replace(result, duration_ms=elapsed)


def failure_result(kind: str, message: str) -> ToolResult:
    """Build the result of a call that was not made or failed."""
    return ToolResult(ok=False, error_kind=kind, stderr=well_formed(message))


def error_result(error: SkillsRuntimeError, annotate: Callable[[str], str] = str) -> ToolResult:
    """Build the result for an error of the runtime; `annotate` may add to its text."""
    result = failure_result(error.kind, annotate(f"{error.message} ({error.hint})" if error.hint else error.message))
    return (
        msgspec.structs.replace(result, data=error.details)
        if isinstance(error, ToolError) and error.details
        else result
    )


async def capture_errors(work: Awaitable[T], annotate: Callable[[str], str] = str) -> T | ToolResult:
    """Await tool code and turn what it raises into a result; `annotate` may add to its text."""
    try:
        return await work
    except (LogError, ApprovalDenied):
        raise
    except TimeoutError as error:
        return failure_result("timeout", annotate(describe_error(error)))
    except SkillsRuntimeError as error:
        return error_result(error, annotate)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the tool boundary: every error becomes a result
        return failure_result("unknown", annotate(describe_error(error)))


def describe_error(error: BaseException) -> str:
    """Describe an error of foreign code in one line, even if its `__str__` fails."""
    # Unlike `str(error)`, it survives an error whose `__str__` raises.
    from traceback import TracebackException

    return well_formed(f"{type(error).__name__}: {TracebackException(type(error), error, None)}")


async def _invoke_with_timeout(tool: Tool, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    work = _invoke_checked(tool, arguments, context)
    if tool.spec.timeout_sec is None:
        return await capture_errors(work)
    limit = asyncio.timeout(tool.spec.timeout_sec)
    result = await capture_errors(_await_within(work, limit))
    if limit.expired() and result.error_kind == "timeout":
        return failure_result("timeout", f"the call took longer than {tool.spec.timeout_sec} s")
    return result


async def _invoke_checked(tool: Tool, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    # The result as plain data that the log can hold; anything else is the tool's mistake.
    result = await tool.invoke(arguments, context)
    if not isinstance(result, ToolResult):  # pyright: ignore[reportUnnecessaryIsInstance] - tools are foreign code
        raise ToolError("unknown", f"the tool returned `{type(result).__name__}` instead of a `ToolResult`")
    text = msgspec.structs.replace(result, stdout=well_formed(result.stdout), stderr=well_formed(result.stderr))
    try:
        return msgspec.json.decode(msgspec.json.encode(text), type=ToolResult)
    except UnicodeEncodeError:
        import json

        return msgspec.structs.replace(text, data=json.loads(well_formed(json.dumps(text.data, ensure_ascii=False))))


async def _await_within(work: Awaitable[ToolResult], limit: asyncio.Timeout) -> ToolResult:
    async with limit:
        return await work
