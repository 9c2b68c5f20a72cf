"""Old logs always load: one function per change, from one version to the next.

Version 0 is the log of skills-runtime-sdk 0.1: six keys, no `seq`, no `mac`.
"""

from collections.abc import Callable
from typing import Any

Data = dict[str, Any]
Upcaster = Callable[[str, Data], tuple[str, Data]]


def _from_v0(event_type: str, data: Data) -> tuple[str, Data]:
    """Version 0 left out `name` on some calls, and could ask several questions at once."""
    if event_type == "tool_call_requested":
        return event_type, {"name": data.get("tool", ""), "tool": data.get("name", ""), **data}
    if event_type == "human_request" and isinstance(data.get("questions"), list):
        asked: list[Data] = [one for one in data["questions"] if isinstance(one, dict)]
        questions = [str(one.get("question", "")) for one in asked]
        return event_type, {"question": "\n".join(questions), **data}
    return event_type, data


UPCASTERS: tuple[Upcaster, ...] = (_from_v0,)
"""The function at index n reads version n and returns version n + 1."""


def upcast(version: int, event_type: str, data: Data) -> tuple[str, Data]:
    """Bring one payload from `version` to the current one."""
    for step in UPCASTERS[version:]:
        event_type, data = step(event_type, data)
    return event_type, data
