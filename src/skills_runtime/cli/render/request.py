"""A request for approval as people see it: the exact call first, then everything that helps to judge it.

Pure: from values to lines.
"""

import shlex
from typing import Any

import msgspec
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skills_runtime.cli.render.changes import Shown, change_lines
from skills_runtime.cli.render.console import cut, labelled
from skills_runtime.cli.render.enclosing import fence_facts, fence_line
from skills_runtime.cli.render.text import count, neutral, one_line
from skills_runtime.ports import ApprovalRequest, Intent

LABEL_CELLS = 24
SHOWN_LINES = 20
SHOWN_CHARS = 2000
_LABEL = 9
_SHOWN_AS_CHANGES = {"file_write": "content", "apply_patch": "input"}
"""Arguments, by tool, whose text the changes of files tell better."""
_RISK_STYLES = {"high": "bold red", "medium": "bold"}


def title_line(request: ApprovalRequest, *, indent: int) -> Text:
    """Which tool needs an approval, and how bad that could be."""
    level = request.risk.get("level", "")
    style = _RISK_STYLES.get(level)
    risk = [" · ", (f"{one_line(level)} risk", style)] if style else []
    return Text.assemble(" " * indent, (one_line(request.tool), "bold"), " needs your approval", *risk)


def call_lines(request: ApprovalRequest, *, indent: int, whole: bool = False) -> Shown:
    """What would be done, to the letter: the command, the changes of files, and what else the call says."""
    intent, lines, left_out = request.intent, list[RenderableType](), 0
    command = command_of(intent)
    if command is not None:
        shown, left_out = _cut(command, whole=whole)
        lines.append(_prompted(shown, indent=indent, left_out=left_out))
    changes = change_lines(intent.files, indent=indent, limit=None if whole else SHOWN_LINES)
    arguments, rest = _arguments(request, whole=whole)
    lines += changes.lines
    if arguments:
        lines.append(labelled(arguments, indent=indent, width=_LABEL))
    return Shown(lines, left_out + changes.left_out + rest)


def fact_lines(request: ApprovalRequest, *, indent: int, whole: bool = False) -> RenderableType:
    """Everything else that helps to judge it."""
    facts = _surroundings(request.intent) | _reasons(request)
    facts |= fence_facts(request.intent.fence) if whole else fence_line(request.intent.fence)
    shown = {label: text if whole else cut(text, SHOWN_CHARS) for label, text in facts.items() if text}
    return labelled(shown, indent=indent, width=_LABEL)


def command_of(intent: Intent) -> str | None:
    """The command a call would run, as one types it."""
    return intent.line if intent.line is not None else shlex.join(intent.argv) if intent.argv else None


def _surroundings(intent: Intent) -> dict[str, str]:
    variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in intent.environment.items())
    digests = ", ".join(f"{name} (sha256 {digest[:16]}…)" for name, digest in intent.digests.items())
    facts = {
        "types": "" if intent.typed is None else msgspec.json.encode(intent.typed).decode(),
        "directory": "" if intent.directory == "." or command_of(intent) is None else intent.directory,
        "sets": variables,
        "script": digests,
        "hosts": ", ".join(intent.hosts),
        "skill": intent.skill,
    }
    return {label: neutral(text) for label, text in facts.items()}


def _reasons(request: ApprovalRequest) -> dict[str, str]:
    risk, intent = request.risk, request.intent
    part = f": {risk['part']}" if risk.get("part") else ""
    why = f": {request.why}" if request.why else ""
    facts = {
        "risk": f"{risk.get('level', '')}, {risk['reason']}{part}" if risk.get("reason") else "",
        "asked by": f"{request.rule}{why}",
        "wants": "more than the fence allows" if intent.escalated else "",
        "reason": f"the model says: {intent.justification}" if intent.justification else "",
    }
    return {label: one_line(text) for label, text in facts.items()}


def _arguments(request: ApprovalRequest, *, whole: bool) -> tuple[dict[str, str], int]:
    """The arguments that are not told otherwise, and how many characters of them were left out."""
    facts: dict[str, str] = {}
    left_out = 0
    for name, value in request.details.items():
        if _is_told(name, value, request):
            continue
        shown, rest = _cut(neutral(value if isinstance(value, str) else _json(value)), whole=whole)
        left_out += rest
        # The sign tells arguments, which anybody may name, from what we say ourselves.
        label = f"{cut(one_line(name), LABEL_CELLS)} ="
        while label in facts:  # two names that look alike must not hide an argument
            label = f"{label[:-2]}' ="
        facts[label] = f"{shown}\n{_more(rest)}" if rest else shown
    return facts, left_out


def _is_told(name: str, value: Any, request: ApprovalRequest) -> bool:
    """Whether an argument is shown already, as the command, the changes or one of the facts."""
    intent = request.intent
    if _SHOWN_AS_CHANGES.get(request.tool) == name and any(file.diff for file in intent.files):
        return True
    told: list[Any] = [intent.line, list(intent.argv), intent.typed, dict(intent.environment), intent.justification]
    told += [file.path for file in intent.files]
    told += [intent.directory] if intent.directory != "." else []
    return any(one and type(value) is type(one) and value == one for one in told)


def _cut(text: str, *, whole: bool) -> tuple[str, int]:
    shown = text if whole else "\n".join(text[:SHOWN_CHARS].split("\n")[:SHOWN_LINES])
    return shown, len(text) - len(shown)


def _more(characters: int) -> str:
    return f"… {count(characters)} more characters"


def _prompted(command: str, *, indent: int, left_out: int) -> RenderableType:
    """A command behind a prompt; each of its lines has one, so that none can pretend to be ours."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for number, line in enumerate(command.split("\n")):
        grid.add_row(Text(">" if number else "$"), Text(neutral(line), style="bold"))
    if left_out:
        grid.add_row(Text(), Text(_more(left_out), style="dim"))
    return Padding(grid, (0, 0, 0, indent), expand=False)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
