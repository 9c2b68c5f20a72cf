"""The arguments of a skill: what somebody wrote behind its name goes where its text asks for it.

Pure. `$ARGUMENTS` is all of it, `$1` to `$9` are its words, and a name that the front matter lists under `arguments`
is the word in that place. A number with no word for it, such as a
price, stays. Values are put in once, so one that looks like a placeholder stays what it is. A text that
asks for nothing gets what was written at its end, so that it is never lost.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, cast

MAX_CHARS = 10_000
"""The longest arguments that a skill is called with by a tool."""

_PLACEHOLDER = re.compile(
    r"\$(?:ARGUMENTS\[(?P<place>\d{1,2})\]|(?P<all>ARGUMENTS)\b|(?P<number>[1-9])(?!\d)|(?P<name>[a-z][a-z0-9_-]*))"
)


def filled(body: str, arguments: str, names: Sequence[str] = ()) -> str:
    """The text of a skill with its arguments in place."""
    words = _words(arguments)
    known = dict(zip(names, words, strict=False))
    asked = False

    def value(found: re.Match[str]) -> str:
        nonlocal asked
        if found["name"] is not None:
            if found["name"] not in names:
                return found[0]
            asked = True
            return known.get(found["name"], "")
        asked = asked or not found["number"] or int(found["number"]) <= len(words)
        if found["all"]:
            return arguments
        place = int(found["number"]) - 1 if found["number"] else int(found["place"])
        return words[place] if place < len(words) else found[0] if found["number"] else ""

    text = _PLACEHOLDER.sub(value, body) if "$" in body else body
    return text if asked or not arguments else f"{text.rstrip()}\n\nArguments: {arguments}\n"


def argument_names(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The names that a skill gives to its arguments, in their order."""
    value = metadata.get("arguments")
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    if not isinstance(value, list):
        return ()
    return tuple(name for one in cast("list[Any]", value) if (name := _name_in(one)))


def _name_in(one: Any) -> str:
    if isinstance(one, Mapping):
        one = cast("Mapping[str, Any]", one).get("name")
    return one if isinstance(one, str) else ""


def _words(arguments: str) -> list[str]:
    """The words as a shell would split them; an open quote is an ordinary character."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()
