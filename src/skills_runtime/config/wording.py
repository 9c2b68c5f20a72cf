"""How paths, keys and values are written in messages and tables."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skills_runtime.config.secrets import hide
from skills_runtime.text import printable

_KEY_CHARS = 80
_VALUE_CHARS = 200


def dotted(path: Sequence[str | int]) -> str:
    """The place of a setting, such as `skills.spaces[0].id`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{printable(hide(part[:_KEY_CHARS]))}"
    return text.removeprefix(".")


def rendered(value: Any) -> str:
    """A value on one line of bounded length, without anything key-shaped."""
    if isinstance(value, Path) or (isinstance(value, str) and value.isprintable() and value.strip()):
        text = printable(hide(str(value)))
    else:
        text = printable(hide(json.dumps(value, ensure_ascii=False, default=str)))
    return text if len(text) <= _VALUE_CHARS else text[: _VALUE_CHARS - 1] + "…"
