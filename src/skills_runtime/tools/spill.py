"""Big results: all of it becomes a blob of the run, and the model gets the beginning and the end.

Pure but for `keep`. Nothing is ever left out without a line that says how much, and where it is.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from skills_runtime.ports import ToolResult

LIMIT = 64 * 1024
"""How many bytes of each stream, and of the data, a result holds."""
SMALL_VALUE = 1024
"""How many bytes a field of data that is too large as a whole may have to stay where it is."""
NOTE_BYTES = 160
"""More than the line in the middle ever has."""

SPILLED = "spilled"
LONGEST_CHARACTER = 4

Keep = Callable[[bytes], str]


def spilled(result: ToolResult, keep: Keep, *, limit: int = LIMIT) -> ToolResult:
    """The result with everything larger than `limit` bytes kept as a blob; its text is well-formed Unicode."""
    places: dict[str, dict[str, Any]] = {}
    stdout = _text("stdout", result.stdout, limit, keep, places)
    stderr = _text("stderr", result.stderr, limit, keep, places)
    data = result.data
    if data is not None and _is_too_large(data, limit, spilling=bool(places)):
        encoded = msgspec.json.encode(data)
        places["data"] = {"blob": keep(encoded), "bytes": len(encoded)}
        data = _small_values(data, limit)
    if not places:
        return result
    return msgspec.structs.replace(
        result, stdout=stdout, stderr=stderr, data={**(data or {}), SPILLED: places}, truncated=True
    )


def _text(name: str, text: str, limit: int, keep: Keep, places: dict[str, dict[str, Any]]) -> str:
    """The text, or its two ends around a note when it is too large."""
    if len(text) * LONGEST_CHARACTER <= limit:  # surely small enough: most results are
        return text
    data = text.encode()
    if len(data) <= limit:
        return text
    digest = keep(data)
    places[name] = {"blob": digest, "bytes": len(data)}
    room = max(limit - NOTE_BYTES, 0)
    # A character cut in two is dropped; the text is whole, so there is nothing else that could be ignored.
    head = data[: room - room // 2].decode(errors="ignore")
    tail = data[len(data) - room // 2 :].decode(errors="ignore")
    left_out = len(data) - len(head.encode()) - len(tail.encode())
    return f"{head}\n[… {left_out} of {len(data)} bytes left out, all of them are in blob {digest} …]\n{tail}"


def _is_too_large(data: Mapping[str, Any], limit: int, *, spilling: bool) -> bool:
    """Whether the data must be kept whole elsewhere; also when its own field would have to make room for ours."""
    return (spilling and SPILLED in data) or len(msgspec.json.encode(data)) > limit


def _small_values(data: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """The fields that are small, as long as they are not many; each is there exactly or not at all."""
    room = limit // 2
    kept: dict[str, Any] = {}
    for name, value in data.items():
        size = len(msgspec.json.encode({name: value}))
        if name != SPILLED and size <= min(room, SMALL_VALUE):
            kept[name] = value
            room -= size
    return kept
