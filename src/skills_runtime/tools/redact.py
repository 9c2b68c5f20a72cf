"""Results without secrets: what the model and the log get, with the exact result kept as a blob of the run."""

from collections.abc import Callable

import msgspec

from skills_runtime.ports import Secrets, ToolResult

REDACTED = "redacted"


def redacted(result: ToolResult, secrets: Secrets, keep: Callable[[bytes], str]) -> ToolResult:
    """The result with its secrets taken out; it says where the exact one is."""
    exact = msgspec.json.encode(result)
    seen = secrets.line(exact)
    if seen is exact:
        return result
    shown = msgspec.json.decode(seen, type=ToolResult)
    return msgspec.structs.replace(shown, data={**(shown.data or {}), REDACTED: {"blob": keep(exact)}})
