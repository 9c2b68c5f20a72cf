"""Finds the command behind a wrapper's own options and operands."""

import re

import msgspec

from skills_runtime.safety.guard.words import Word
from skills_runtime.safety.guard.wrappers import Wrapper

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


def is_assignment(word: Word) -> bool:
    """Whether a word before a command sets a variable."""
    return bool(_ASSIGNMENT.match(word.shape))


class Unwrapped(msgspec.Struct, frozen=True):
    """What stands behind a wrapper's own words."""

    rest: list[Word]
    assignments: list[Word] = []
    code: Word | None = None
    nothing_runs: bool = False
    understood: bool = True


def unwrap(wrapper: Wrapper, args: list[Word]) -> Unwrapped:
    """Find the command by the wrapper's grammar; an option it does not have is not understood."""
    index, operands, lookup = 0, wrapper.operands, False
    code: Word | None = None
    assignments: list[Word] = []
    while index < len(args):
        word = args[index]
        if word.shape == "--":
            index += 1 + operands
            while wrapper.assigns and index < len(args) and "=" in args[index].shape:
                assignments.append(args[index])
                index += 1
            break
        if word.option or (word.shape == "-" and "-" in wrapper.flags):
            used, value, known, looks = _option(wrapper, args, index)
            if not known:
                return Unwrapped(args[index:], assignments, understood=False)
            code, lookup, index = value or code, lookup or looks, index + used
        elif wrapper.assigns and "=" in word.shape:
            assignments.append(word)
            index += 1
        elif word.several or operands == 0:
            break
        else:
            operands -= 1
            index += 1
    return Unwrapped(args[index:], assignments, code, lookup)


def _option(wrapper: Wrapper, args: list[Word], index: int) -> tuple[int, Word | None, bool, bool]:
    """How many words an option takes, the code it holds, whether it is known, whether it only looks something up."""
    word = args[index]
    following = args[index + 1] if index + 1 < len(args) else None
    if word.value is None and not word.shape.startswith("--"):
        return 1, None, False, False
    if word.shape.startswith("--"):
        return _long_option(wrapper, word, following)
    for position, letter in enumerate(word.shape[1:], 1):
        attached = position + 1 < len(word.shape)
        if letter == wrapper.code:
            return (
                (1, word.after(position + 1), True, False) if attached else (2, following, following is not None, False)
            )
        if letter in wrapper.values:
            return (1 if attached else 2), None, True, False
        if letter in wrapper.lookups:
            return len(args), None, True, True
        if letter not in wrapper.flags:
            return 1, None, False, False
    return 1, None, True, False


def _long_option(wrapper: Wrapper, word: Word, following: Word | None) -> tuple[int, Word | None, bool, bool]:
    name = word.option[2:]
    if wrapper.code and wrapper.code_name.startswith(name):
        if "=" in word.shape:
            return 1, word.after(len(word.option) + 1), True, False
        return 2, following, following is not None, False
    if name in wrapper.long_flags.split() or ("=" in word.shape and name in wrapper.long_values.split()):
        return 1, None, True, False
    if name in wrapper.long_values.split():
        return 2, None, True, False
    if name in ("help", "version"):
        return 1, None, True, True
    return 1, None, False, False
