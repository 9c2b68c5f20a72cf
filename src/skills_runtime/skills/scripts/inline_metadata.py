"""What a Python script says it needs, in the block `# /// script` at its top (PEP 723).

Pure. Only names of packages with versions count: what would make a resolver read other files or addresses is refused.
"""

import re
import tomllib
from typing import Any, cast

import msgspec

MAX_BYTES = 1 << 20
MAX_DEPENDENCIES = 200

_OPENING = re.compile(r"# /// ([a-zA-Z0-9-]+)")
_CLOSING = "# ///"
_PACKAGE = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_EXTRAS = rf"(?:\[\s*{_PACKAGE}(?:\s*,\s*{_PACKAGE})*\s*\])?"
_CLAUSE = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+"
_CLAUSES = rf"(?:\(\s*{_CLAUSE}(?:\s*,\s*{_CLAUSE})*\s*\)|{_CLAUSE}(?:\s*,\s*{_CLAUSE})*)?"
_MARKER = r"(?:;[A-Za-z0-9 ._()<>=!~'\"-]+)?"
_DEPENDENCY = re.compile(rf"{_PACKAGE}\s*{_EXTRAS}\s*{_CLAUSES}\s*{_MARKER}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:T[0-9:.]+(?:Z|[+-]\d{2}:\d{2})?)?")


class NotUsable(ValueError):
    """The block cannot be followed; the text says why, as the end of a sentence."""


class InlineMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """What a script needs."""

    requires_python: str = ""
    dependencies: tuple[str, ...] = ()
    exclude_newer: str = ""
    """Packages published later do not count."""


def inline_metadata(data: bytes) -> InlineMetadata | None:
    """What the script's block says, or nothing where it has none; raises `NotUsable`."""
    if b"# /// script" not in data[:MAX_BYTES]:
        return None
    try:
        text = data[:MAX_BYTES].decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotUsable("it is not UTF-8 text") from None
    blocks = _blocks(text.splitlines())
    if not blocks:
        return None
    if len(blocks) > 1:
        raise NotUsable("it has more than one block `# /// script`")
    try:
        return _metadata(tomllib.loads(blocks[0]))
    except tomllib.TOMLDecodeError as error:
        raise NotUsable(f"its block `# /// script` is not TOML: {error}") from None


def _blocks(lines: list[str]) -> list[str]:
    """The content of every block of the type `script`; one that is never closed is no block."""
    found: list[str] = []
    number = 0
    while number < len(lines):
        opening = _OPENING.fullmatch(lines[number])
        number += 1
        if opening is None:
            continue
        end = number
        while end < len(lines) and (lines[end] == "#" or lines[end].startswith("# ")):
            end += 1
        closings = [at for at in range(number, end) if lines[at] == _CLOSING]
        if closings:  # the last one closes: between two blocks there is a line that is no comment
            if opening[1] == "script":
                found.append("\n".join(line[2:] for line in lines[number : closings[-1]]))
            number = closings[-1] + 1
    return found


def _metadata(fields: dict[str, Any]) -> InlineMetadata:
    requires = fields.get("requires-python", "")
    if not isinstance(requires, str) or "\n" in requires:
        raise NotUsable("its `requires-python` is not a text")
    return InlineMetadata(
        requires_python=requires.strip(),
        dependencies=_dependencies(fields.get("dependencies", [])),
        exclude_newer=_exclude_newer(fields.get("tool")),
    )


def _dependencies(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or len(cast("list[Any]", value)) > MAX_DEPENDENCIES:
        raise NotUsable(f"its `dependencies` are not a list of {MAX_DEPENDENCIES} texts at most")
    wanted: list[str] = []
    for one in cast("list[Any]", value):
        if not isinstance(one, str) or not _DEPENDENCY.fullmatch(one.strip()):
            raise NotUsable(f"the dependency {str(one)[:80]!a} is not a package with versions")
        wanted.append(one.strip())
    return tuple(wanted)


def _exclude_newer(tool: Any) -> str:
    uv = cast("dict[str, Any]", tool).get("uv") if isinstance(tool, dict) else None
    moment = cast("dict[str, Any]", uv).get("exclude-newer", "") if isinstance(uv, dict) else ""
    text = moment if isinstance(moment, str) else str(getattr(moment, "isoformat", lambda: "?")())
    if text and not _MOMENT.fullmatch(text):
        raise NotUsable("its `exclude-newer` is not a date")
    return text
