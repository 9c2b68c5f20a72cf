"""Which names may be in a skill: those that mean the same thing on every system, and lead nowhere else.

Pure. Used for archives before anything is unpacked, and for every tree before it is installed.
"""

import re
import unicodedata
from collections.abc import Iterable

from skills_runtime.errors import ValidationFailed
from skills_runtime.text import one_line

MAX_NAME_BYTES = 200
MAX_PATH_BYTES = 800
MAX_DEPTH = 24
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\.|$)")
_UNUSABLE = frozenset('<>:"|?*\\')
_HIDDEN_KINDS = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_SHOWN_CHARS = 120


def safe_parts(path: str) -> tuple[str, ...]:
    """The names a relative path consists of; refuses a path that is not the same everywhere."""
    text = path.removesuffix("/")
    while text.startswith("./"):
        text = text[2:]
    if text == ".":
        return ()
    if not text or text.startswith("/"):
        raise refused(path, "it does not begin below the skill")
    parts = tuple(text.split("/"))
    if len(parts) > MAX_DEPTH:
        raise refused(path, f"it is nested more than {MAX_DEPTH} deep")
    for part in parts:
        if problem := _problem(part):
            raise refused(path, problem)
    if len(text.encode(errors="surrogatepass")) > MAX_PATH_BYTES:
        raise refused(path, f"it is longer than {MAX_PATH_BYTES} bytes")
    return parts


def refuse_clashes(files: Iterable[tuple[str, ...]], directories: Iterable[tuple[str, ...]] = ()) -> None:
    """Refuse paths that are one path on some system: twice the same, or apart only by case or by accents."""
    seen: dict[tuple[str, ...], tuple[tuple[str, ...], bool]] = {}
    for path, is_file in [*((path, True) for path in files), *((path, False) for path in directories)]:
        for length in range(1, len(path) + 1):
            here = path[:length]
            final = is_file and length == len(path)
            before = seen.setdefault(tuple(map(_folded, here)), (here, final))
            if before[0] != here:
                raise refused("/".join(here), f"it is the same as `{'/'.join(before[0])}` where case does not count")
            if (final or before[1]) and before != (here, final):
                raise refused("/".join(here), "it is both a file and a directory")
    twice = _repeated(files)
    if twice is not None:
        raise refused("/".join(twice), "it is there twice")


def refused(path: str, why: str) -> ValidationFailed:
    """The error for a path that cannot be in a skill."""
    shown = one_line(path)
    shown = shown if len(shown) <= _SHOWN_CHARS else f"{shown[:_SHOWN_CHARS]}…"
    return ValidationFailed(
        f"`{shown}` cannot be part of a skill: {why}",
        hint="nothing was installed; ask whoever made the skill for one without it",
        details={"code": "SKILL_INSTALL_UNSAFE_PATH"},
    )


def _problem(part: str) -> str | None:
    checks = (
        (part in ("", ".", ".."), "it leads out of the skill, or nowhere"),
        (any(unicodedata.category(each) in _HIDDEN_KINDS for each in part), "it holds characters nobody can see"),
        (bool(_UNUSABLE.intersection(part)), "it holds a character that some systems read otherwise"),
        (part.endswith((".", " ")) or part.startswith(" "), "some systems drop its last or first character"),
        (_RESERVED.match(part) is not None, "some systems take it for a device"),
        (len(part.encode(errors="surrogatepass")) > MAX_NAME_BYTES, f"a name has more than {MAX_NAME_BYTES} bytes"),
        (part.casefold() == ".git" or part.casefold().startswith("git~"), "it would be taken for a git repository"),
    )
    return next((why for is_bad, why in checks if is_bad), None)


def _folded(part: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", part).casefold())


def _repeated(paths: Iterable[tuple[str, ...]]) -> tuple[str, ...] | None:
    seen: set[tuple[str, ...]] = set()
    for path in paths:
        if path in seen:
            return path
        seen.add(path)
    return None
