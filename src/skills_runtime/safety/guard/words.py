"""Words of a command, what is known about their values, and texts that are not parsed."""

import re
from collections.abc import Iterable

import msgspec

PLACEHOLDER = "\ufffc"
"""Marks an unknown part in the shape of a word."""

_BRACES = re.compile(r"\{[^{}]*\}")
_GLOB = re.compile(r"[*?\[]")
_MAX_BRACED = 64


class Word(msgspec.Struct, frozen=True):
    """One word: its value if it is certain, and its shape in any case."""

    value: str | None
    shape: str
    """The value with a placeholder for each unknown part."""
    start: int = 0
    end: int = 0
    computed: bool = False
    """Whether the line computes the unknown part, which may then be any text."""
    may_split: bool = False
    """Whether it may expand to several words, or none."""
    glob: bool = False
    """Whether it is a file name pattern."""
    is_process: bool = False
    """Whether it is a process substitution."""
    may_be_option: bool = False
    """Whether it, or a part of it, may turn out to be an option."""
    from_environment: bool = False
    """Whether its value comes from the environment."""

    @property
    def option(self) -> str:
        """The option without its value; empty if it is none."""
        if not self.shape.startswith("-") or self.shape == "-":
            return ""
        return self.shape.split("=", 1)[0]

    def suffix(self, length: int) -> "Word":
        """Return the rest of this word, such as the value of `--option=value`."""
        text = self.shape[length:]
        return msgspec.structs.replace(self, shape=text, value=None if self.value is None else text)


class Part(msgspec.Struct, frozen=True):
    """A piece of a word with the same quoting."""

    text: str
    quoted: bool = False
    unknown: bool = False
    computed: bool = False
    may_split: bool = False
    is_process: bool = False
    safe_alone: bool = False
    """Whether the unknown text is harmless as a whole word, but not as a piece of one."""
    never_option: bool = False
    """Whether the unknown text never begins with a dash."""
    from_environment: bool = False
    """Whether the value comes from the environment."""


def plain_word(text: str, start: int = 0, end: int = 0) -> Word:
    """Build a word whose value is its text."""
    return Word(text, text, start, end)


def unknown_word(*, start: int = 0, end: int = 0, computed: bool = True, may_split: bool = False) -> Word:
    """Build a word of unknown value."""
    return Word(None, PLACEHOLDER, start, end, computed, may_split, may_be_option=True)


def join(parts: list[Part], start: int, end: int) -> list[Word]:
    """Return the words of these parts: one, or several for braces."""
    bare = "".join("Q" * len(part.text) if part.quoted or part.unknown else part.text for part in parts)
    shape = "".join(part.text for part in parts)
    if "{" in bare and any("," in braces or ".." in braces for braces in _BRACES.findall(bare)):
        return _expand_braces(parts, shape, bare, start, end)
    unknown = any(part.unknown for part in parts)
    glob = bool(_GLOB.search(bare)) and not (bare in ("[", "[[") or ("]" not in bare and not re.search(r"[*?]", bare)))
    return [
        Word(
            None if unknown or glob else shape,
            shape,
            start,
            end,
            any(part.computed or (part.safe_alone and shape != PLACEHOLDER) for part in parts),
            any(part.may_split for part in parts) or glob,
            glob,
            any(part.is_process for part in parts),
            (unknown or glob) and _may_be_option(parts, shape, bare),
            any(part.from_environment for part in parts),
        )
    ]


def _may_be_option(parts: list[Part], shape: str, bare: str) -> bool:
    """Return whether an unknown word may be an option, or be split into options."""
    if any(part.unknown and part.may_split for part in parts):
        return True
    first = next((part for part in parts if part.text), None)
    if first is not None and first.unknown:
        return not (first.never_option or first.is_process)
    if shape.startswith("-"):
        name = shape.split("=", 1)[0]
        return not name.startswith("--") or PLACEHOLDER in name or bool(_GLOB.search(name))
    return bool(_GLOB.match(bare))


def _expand_braces(parts: list[Part], shape: str, bare: str, start: int, end: int) -> list[Word]:
    """Expand one pair of braces with commas; anything more stays unknown."""
    simple = len(_BRACES.findall(bare)) == 1 and bare.count("{") == 1 and ".." not in bare
    if not simple or any(part.unknown for part in parts):
        return [Word(None, PLACEHOLDER, start, end, computed=True, may_split=True, may_be_option=True)]
    opening, closing = bare.index("{"), bare.index("}")
    inside, choices, choice_start = bare[opening + 1 : closing], list[str](), opening + 1
    for position, character in enumerate(inside, opening + 1):
        if character == ",":
            choices.append(shape[choice_start:position])
            choice_start = position + 1
    choices.append(shape[choice_start:closing])
    if len(choices) > _MAX_BRACED:
        return [Word(None, PLACEHOLDER, start, end, computed=True, may_split=True, may_be_option=True)]
    glob = bool(_GLOB.search(bare))
    texts = [shape[:opening] + choice + shape[closing + 1 :] for choice in choices]
    return [
        Word(None if glob else text, text, start, end, glob=glob, may_split=glob, may_be_option=glob)
        for text in texts
        if text
    ]


def values(words: Iterable[Word]) -> tuple[str | None, ...]:
    """Return the values of words; None for an unknown one."""
    return tuple(word.value for word in words)


_ESCAPES = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)


def decode_ansi_c(inside: str) -> str | None:
    """Return the value of the text in `$'…'`; None when it is not valid text."""

    def decode(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code:
            return chr(int(code, 16))
        if match[4]:
            return chr(int(match[4], 8) & 0xFF)
        if match[5]:
            return chr(ord(match[5].upper()) & 0x1F)
        return _ESCAPES.get(match[6], "\\" + match[6])

    try:
        text = _ANSI.sub(decode, inside)
    except (ValueError, OverflowError):
        return None
    # Bytes above ASCII are put together by the shell's locale, and a NUL ends the string.
    return None if "\0" in text or ("\\" in inside and not text.isascii()) else text


def split_escapes(text: str) -> list[Part]:
    """Split a bare word at its backslash escapes."""
    if "\\" not in text:
        return [Part(text)]
    parts: list[Part] = []
    for match in _BACKSLASH.finditer(text):
        escaped = match[1]
        if escaped is None:
            parts.append(Part(match[0]))
        elif escaped != "\n":
            parts.append(Part(escaped, quoted=True))
    return parts


_BACKSLASH = re.compile(r"\\(.)|[^\\]+", re.DOTALL)


MAX_CHARACTERS = 64 * 1024
# The parser's time grows with the square of unmatched brackets.
MAX_BRACKETS = 1_000

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"
)
_BRACKETS = re.compile(r"[(\[{<|`]")


def find_flaw(text: str) -> str:
    """Return why a text is not parsed; empty when it can be."""
    if len(text) > MAX_CHARACTERS:
        return "the command is too long to be read"
    if _CONTROL.search(text):
        return "the command holds control characters"
    if not text.isascii() and _INVISIBLE.search(text):
        return "the command holds characters that cannot be seen"
    if len(text) > MAX_BRACKETS and len(_BRACKETS.findall(text)) > MAX_BRACKETS:
        return "the command is too tangled to be read"
    return ""


def names(text: str) -> frozenset[str]:
    """Build a set of names from a text."""
    return frozenset(text.split())
