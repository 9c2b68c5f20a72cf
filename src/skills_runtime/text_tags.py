"""Takes from foreign text what could pass for the runtime's own marks.

Pure. Whatever is not a mark stays as it is, so that a skill about HTML can still show HTML.
"""

import re
import unicodedata

TAG = "skill"
"""How the name of every tag of ours begins."""
OPENERS = "<＜﹤‹〈〈⟨❬❮❰˂ᐸ⋖⦑"
"""Characters that begin a tag, or look as if they did."""

_OPENER = re.compile(f"[{OPENERS}]")
_SKIPPED_KINDS = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp", "Mn", "Me", "Cn", "Co"})
_SKIPPED = frozenset("/\\⁄∕⧸⧹╱!?\u115f\u1160\u2800\u3164\uffa0")
"""Slashes of all sorts, and letters that nobody sees."""
_ALIKE = str.maketrans("ѕꜱкκⲕіıιɩӏǀ|1l", "sskkkiiiiiiiii")
"""Small letters that look like one of ours; `i` and `l` are one letter here."""
_SPACES = re.compile(r"\s+")


def neutral(text: str) -> str:
    """The text with every beginning of a tag like ours taken apart, however it is spelled."""
    return _OPENER.sub(lambda match: "&lt;" if _names_our_tag(text, match.end()) else match[0], text)


def one_line(text: str) -> str:
    """The text on one line, with everything escaped that is not plainly visible."""
    if text.isprintable() and "  " not in text:
        return text.strip()  # of all spaces only the common one is printable
    collapsed = _SPACES.sub(" ", text).strip()
    if collapsed.isprintable():
        return collapsed
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in collapsed)


def inert(text: str) -> str:
    """One line that cannot begin or end a tag, nor the value of an attribute in one."""
    escaped = one_line(text).replace("&", "&amp;").replace('"', "&quot;").replace(">", "&gt;")
    return _OPENER.sub("&lt;", escaped)


def _names_our_tag(text: str, start: int) -> bool:
    """Whether what follows reads like the name of our tag once everything invisible is left out."""
    rest = TAG.translate(_ALIKE)
    for place in range(start, len(text)):
        for letter in _folded(text[place]):
            if not rest.startswith(letter):
                return False
            rest = rest[1:]
            if not rest:
                return True
    return False


def _folded(character: str) -> str:
    """What a character amounts to for somebody who only looks: nothing, or a few small letters."""
    if character in _SKIPPED or unicodedata.category(character) in _SKIPPED_KINDS:
        return ""
    plain = unicodedata.normalize("NFKD", character).casefold().translate(_ALIKE)
    return "".join(each for each in plain if each not in _SKIPPED and unicodedata.category(each) not in _SKIPPED_KINDS)
