"""Here-documents: where they end by the shell's own rule, and what their text is."""

import re
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.safety.guard.evaluate import OPENED
from skills_runtime.safety.guard.syntax import Script

if TYPE_CHECKING:
    from tree_sitter import Node

_MISSED = re.compile(r"(?<!\\)(?:\\\\)*(?:`|\$[\w({\[@*#?$!-])")
_BACKQUOTED = re.compile(r"(?<!\\)`((?:[^`\\]|\\.)*)`", re.DOTALL)
_DOLLARED = re.compile(r"\$\(([^()]*)\)")
_MAX_CODES = 64


class Heredoc(msgspec.Struct, frozen=True):
    """The text that a command is fed, as far as it is known."""

    text: str | None
    place: tuple[int, int]
    understood: bool = True
    backquoted: tuple[str, ...] = ()
    """Commands in the old form of a substitution, which the grammar does not see here."""


def heredoc_of(node: "Node", script: Script) -> Heredoc:
    """Read one here-document; the parser's idea of its end must be the shell's."""
    found = {child.type: child for child in node.children}
    start, body, end = found.get("heredoc_start"), found.get("heredoc_body"), found.get("heredoc_end")
    if start is None or end is None:
        return _lost(script, node.start_byte)
    written = script.written(start.start_byte, start.end_byte)
    delimiter = re.sub(r"\\(.)|['\"]", lambda match: match[1] or "", written)
    first = script.source.find(b"\n", start.end_byte) + 1
    raw = script.written(first, end.start_byte)
    lines = raw.split("\n")
    if "<<-" in found:
        lines = [line.lstrip("\t") for line in lines]
    # What stands before the delimiter on its own line can only be tabs, and no line before it may be the delimiter.
    fits = lines[-1] == "" and delimiter not in lines[:-1] and first > 0 and (body is None or body.start_byte >= first)
    last = script.source.find(b"\n", end.start_byte)
    rest = script.source[end.start_byte : last if last >= 0 else None].decode(errors="replace")
    place = (first, end.start_byte)
    if not fits or rest != delimiter:
        return _lost(script, first)
    if written != delimiter:
        return Heredoc("\n".join(lines), place)
    return _expanded(body, script, "\n".join(lines), place)


def _lost(script: Script, start: int) -> Heredoc:
    """A here-document whose end is not certain: whatever follows may be carried out as a substitution."""
    end = len(script.source)
    text = script.written(start, end)
    codes = (*_BACKQUOTED.findall(text), *_DOLLARED.findall(text))
    return Heredoc(None, (start, end), understood=False, backquoted=codes[:_MAX_CODES])


def _expanded(body: "Node | None", script: Script, text: str, place: tuple[int, int]) -> Heredoc:
    """A here-document whose substitutions the shell carries out."""
    opened = [child for child in body.named_children if child.type in OPENED] if body else []
    literal, at = "", place[0]
    for child in opened:
        literal += script.written(at, child.start_byte) + " "
        at = child.end_byte
    literal += script.written(at, place[1])
    backquoted = tuple(re.sub(r"\\([`\\$])", r"\1", code) for code in _BACKQUOTED.findall(literal))
    understood = not _MISSED.search(literal)
    known = None if opened or not understood else re.sub(r"\\([$`\\\n])", r"\1", text)
    return Heredoc(known, place, understood, backquoted)
