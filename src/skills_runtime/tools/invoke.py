"""Calling a tool: whatever it does, what comes back is one result that the log can hold and the model can read.

Secrets are taken out of it, and what is too large is kept beside the log.
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
    """The result with its secrets taken out; it says where the exact one is."""
    exact = msgspec.json.encode(result)
    redacted_json = secrets.line(exact)
    if redacted_json is exact:
        return result
    redacted = msgspec.json.decode(redacted_json, type=ToolResult)
    return msgspec.structs.replace(redacted, data={**(redacted.data or {}), REDACTED: {"blob": keep(exact)}})


LIMIT = 64 * 1024
"""How many bytes of each stream, and of the data, a result holds."""
SMALL_VALUE = 1024
"""How many bytes a field of data that is too large as a whole may have to stay where it is."""
NOTE_BYTES = 160
"""More than the line in the middle ever has."""

SPILLED = "spilled"
LONGEST_CHARACTER = 4

Keep = Callable[[bytes], str]


def spill_large_values(result: ToolResult, keep: Keep, *, limit: int = LIMIT) -> ToolResult:
    """The result with everything larger than `limit` bytes kept as a blob; its text is well-formed Unicode."""
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
    """The text, or its two ends around a note when it is too large."""
    if len(text) * LONGEST_CHARACTER <= limit:  # surely small enough: most results are
        return text
    data = text.encode()
    if len(data) <= limit:
        return text
    digest = keep(data)
    blobs[name] = {"blob": digest, "bytes": len(data)}
    budget = max(limit - NOTE_BYTES, 0)
    # A character cut in two is dropped; the text is whole, so there is nothing else that could be ignored.
    head = data[: budget - budget // 2].decode(errors="ignore")
    tail = data[len(data) - budget // 2 :].decode(errors="ignore")
    left_out = len(data) - len(head.encode()) - len(tail.encode())
    return f"{head}\n[… {left_out} of {len(data)} bytes left out, all of them are in blob {digest} …]\n{tail}"


def _small_values(data: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """The fields that are small, as long as they are not many; each is there exactly or not at all."""
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
    """The result of a call, in the time it has; errors are results, unless the run itself has to stop or wait.

    Those are `LogError`, `ApprovalDenied` where an approver stops the run, cancellation and `Parked`.
    """
    started = clock.monotonic()
    redacted = redact_result(await _invoke_with_timeout(tool, arguments, context), context.secrets, context.keep)
    result = spill_large_values(redacted, context.keep)
    elapsed = round((clock.monotonic() - started) * 1000)
    return msgspec.structs.replace(result, duration_ms=elapsed)


def failure_result(kind: str, message: str) -> ToolResult:
    """The result of a call that was not made, or came to nothing."""
    return ToolResult(ok=False, error_kind=kind, stderr=well_formed(message))


def error_result(error: SkillsRuntimeError, annotate: Callable[[str], str] = str) -> ToolResult:
    """The result of a call that failed in a way the runtime knows, in words that `told` may add to."""
    result = failure_result(error.kind, annotate(f"{error.message} ({error.hint})" if error.hint else error.message))
    return (
        msgspec.structs.replace(result, data=error.details)
        if isinstance(error, ToolError) and error.details
        else result
    )


async def capture_errors(work: Awaitable[T], annotate: Callable[[str], str] = str) -> T | ToolResult:
    """What comes of a tool's own code; what it raises is a result, in words that `told` may add to."""
    try:
        return await work
    except (LogError, ApprovalDenied):
        raise
    except TimeoutError as error:
        return failure_result("timeout", annotate(describe_error(error)))
    except SkillsRuntimeError as error:
        return error_result(error, annotate)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the tool boundary: whatever a tool raises, the model is told
        return failure_result("unknown", annotate(describe_error(error)))


def describe_error(error: BaseException) -> str:
    """What went wrong in other people's code, in one line; also where the error itself cannot say."""
    from traceback import TracebackException  # who asks an error what it is must expect another one

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
    if not isinstance(result, ToolResult):  # pyright: ignore[reportUnnecessaryIsInstance] - tools are other people's
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
