"""Reports about settings and sources of skills, as JSON on stdout."""

from typing import Any, TextIO

import msgspec

from skills_runtime.cli.skill_settings import Looked


def preflight_answer(found: Looked, workspace_root: str) -> dict[str, Any]:
    """What `skills preflight` says."""
    settings, issues = found.settings, found.issues
    errors = sum(one.severity == "error" for one in issues)
    return {
        "issues": issues,
        "stats": {
            "workspace_root": str(settings.workspace_root) if settings else workspace_root,
            "overlay_paths": [str(path) for path in settings.overlay_paths] if settings else [],
            "env_file": str(settings.env_file) if settings and settings.env_file else None,
            "issues_total": len(issues),
            "errors_total": errors,
            "warnings_total": len(issues) - errors,
        },
    }


def write_json(value: Any, out: TextIO, *, pretty: bool) -> None:
    """Write one value on one line, or with line breaks; what a terminal would obey is escaped."""
    data = msgspec.json.encode(value)
    text = (msgspec.json.format(data) if pretty else data).decode()
    out.write("".join(_escaped(each) for each in text) + "\n" if not text.isascii() else f"{text}\n")


def _escaped(character: str) -> str:
    if character.isprintable() or character == "\n":
        return character
    return "".join(f"\\u{unit:04x}" for unit in _units(character))


def _units(character: str) -> list[int]:
    data = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[place : place + 2], "big") for place in range(0, len(data), 2)]
