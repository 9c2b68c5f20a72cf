"""What the rules say about a call that nobody makes, for people and for programs."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

import msgspec
from rich.console import Console
from rich.text import Text

from skills_runtime.cli.output import answers, labelled
from skills_runtime.errors import EXIT_CODES, ValidationFailed
from skills_runtime.safety.guard import Risk
from skills_runtime.safety.policy import Allow, Ask, Deny, Part
from skills_runtime.safety.policy_preview import PlannedCall, PolicyPreview
from skills_runtime.text import readable_line

CODES = {Allow: 0, Ask: EXIT_CODES["human_required"], Deny: EXIT_CODES["permission"]}
"""What a program that asks us is told."""
_SIGNS: Mapping[str, tuple[str, str]] = {"allow": ("✓", "green"), "ask": ("?", "yellow"), "deny": ("✗", "bold red")}
_LABEL = 8


def exit_code(preview: PolicyPreview) -> int:
    """0 where the call may run, and one code each for asking and refusing."""
    return CODES[type(preview.explanation.verdict)]


def parse_call(text: str, origin: str) -> PlannedCall:
    """The call that a JSON text describes."""
    try:
        return msgspec.json.decode(text, type=PlannedCall)
    except msgspec.DecodeError as error:
        raise ValidationFailed(
            f"`{origin}` does not describe a call: {error}", hint='write {"tool": "file_write", "arguments": {…}}'
        ) from None


def tell_decision(preview: PolicyPreview, notices: Iterable[str], *, as_json: bool, no_color: bool) -> int:
    """The exit code of a decision that was told, with what its user should know besides."""
    for notice in (*notices, *preview.notices):
        sys.stderr.write(f"notice: {readable_line(notice)}\n")
    if as_json:
        write_decision(preview, sys.stdout)
    else:
        show_decision(preview, answers(no_color=no_color))
    return exit_code(preview)


def write_decision(preview: PolicyPreview, output: TextIO) -> None:
    """The decision as one JSON object."""
    facts, verdict = preview.facts, preview.explanation.verdict
    answer: dict[str, Any] = {
        "decision": _word(preview),
        "rule": verdict.rule,
        "justification": verdict.justification,
        "tool": facts.tool,
        "effect": facts.effect,
        "risk": facts.risk,
        "unclear": facts.unclear,
        "escalated": facts.escalated,
        "parts": preview.explanation.parts,
        "hosts": facts.hosts,
        "notices": preview.notices,
    }
    output.write(msgspec.json.encode(answer).decode() + "\n")


def show_decision(preview: PolicyPreview, console: Console) -> None:
    """The decision for people: what, by which rule, and how each part of the call was seen."""
    facts, verdict = preview.facts, preview.explanation.verdict
    sign, style = _SIGNS[_word(preview)]
    console.print(Text.assemble((f"{sign} {_word(preview)}", style), f"  {readable_line(verdict.rule)}"))
    told = {
        "because": verdict.justification,
        "tool": facts.tool,
        "risk": _risk(facts.risk),
        "unclear": facts.unclear,
    }
    console.print(labelled({name: readable_line(text) for name, text in told.items() if text}, indent=2, width=_LABEL))
    for part in preview.explanation.parts:
        console.print(_line(part))


def _word(preview: PolicyPreview) -> str:
    return type(preview.explanation.verdict).__name__.lower()


def _risk(risk: Risk) -> str:
    reason = f": {risk.reason}" if risk.reason else ""
    return f"{risk.level}{reason}" + (f" (`{risk.part}`)" if risk.part else "")


def _line(part: Part) -> Text:
    sign, style = ("✓", "green") if part.allowed_by else ("·", "dim")
    by = part.allowed_by or "no rule allows it"
    return Text.assemble(
        (f"  {sign} ", style), f"{part.kind} {readable_line(part.text)}", ("  " + readable_line(by), "dim")
    )
