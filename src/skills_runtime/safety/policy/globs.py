"""Whether a pattern for names of files may stand for the runtime's own state.

It is compared name by name with the places that are known. A name that is nothing but a pattern, such as `*` or `.*`,
says nothing about us: alone it is left, for every `ls *` would be denied, and with names behind it it is asked about.
"""

import re
from fnmatch import fnmatchcase

from skills_runtime.safety.policy.paths import Anchor, Parts, absolute_parts, folded, has_glob

STATE_DIRECTORY = ".skills_runtime_sdk"

_WILD = re.compile(r"\[[^\]]*\]|[*?]")
_FIRST_WILD = re.compile(r"[*?\[]")
_MIN_LITERAL = 3
"""How many characters of its own a pattern needs to be taken for the name of the state directory."""
_MIN_BEGINNING = 2
"""Or how many that it begins with."""
_INSIDE = ("runs", "bundles", "keys")
"""What the state directory holds."""


def glob_of_control(token: str, places: tuple[Parts, ...], base: Anchor, *, bare: bool = False) -> bool:
    """Whether a pattern may stand for one of our places or for something in it.

    With `bare`, names that are nothing but a pattern count too where more names follow.
    """
    names = tuple(map(folded, filter(None, token.split("/"))))
    if any(_is_state(names, index, bare=bare) for index in range(len(names))):
        return True
    parts = absolute_parts(token, base)
    return parts is not None and any(_is_place(parts, place, bare=bare) for place in places)


def _is_state(names: Parts, index: int, *, bare: bool) -> bool:
    name = names[index]
    if not has_glob(name) or not _may_be(STATE_DIRECTORY, name):
        return False
    if len(_WILD.sub("", name)) >= _MIN_LITERAL or len(_FIRST_WILD.split(name, 1)[0]) >= _MIN_BEGINNING:
        return True
    following = names[index + 1] if index + 1 < len(names) else ""
    return bare and not _is_bare(following) and any(_may_be(inner, following) for inner in _INSIDE)


def _is_place(parts: Parts, place: Parts, *, bare: bool) -> bool:
    if len(parts) < len(place) or not all(map(_may_be, place, parts)):
        return False
    return not _is_bare(parts[len(place) - 1]) or (bare and len(parts) > len(place))


def _may_be(name: str, pattern: str) -> bool:
    """Whether a shell may put the name in the place of the pattern; a leading dot must be written."""
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return name == pattern or fnmatchcase(name, pattern)


def _is_bare(pattern: str) -> bool:
    return not _WILD.sub("", pattern).strip(".")
