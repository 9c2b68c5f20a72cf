"""A request for approval in words: the call to the letter, its changes, the sandbox, and the rules that could be made.

Pure: from values to lines.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import msgspec
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skills_runtime.cli.output import cut, labelled
from skills_runtime.cli.text import count, duration, plural
from skills_runtime.engine.approvals import rule_for
from skills_runtime.errors import ValidationFailed
from skills_runtime.ports import ApprovalRequest, FileTouch, Intent, Question
from skills_runtime.safety.approvals.request import Scope
from skills_runtime.safety.policy import END, Rule, rule_text
from skills_runtime.text import readable, readable_line

_HEADINGS = ("--- ", "+++ ")
_STYLES = {"+": "green", "-": "red", "@": "cyan"}
Fence = Mapping[str, Any]
NONE = "none: the command has all your rights"
SHOWN_PLACES = 4
"""Of each list, where not all of it is asked for."""
_LABELS = {"writable": "writes", "readable": "reads", "protected": "protected", "hidden": "hidden"}
"""What means something else than itself in the path of a rule."""
SCOPE_WORDS: Mapping[str, Scope] = {"run": "run", "skill": "skill", "you": "user"}
"""How far a rule reaches, as people say it."""
LABEL_CELLS = 24
SHOWN_LINES = 20
SHOWN_CHARS = 2000
_LABEL = 9
_SHOWN_AS_CHANGES = {"file_write": "content", "apply_patch": "input"}
"""Arguments, by tool, whose text the changes of files tell better."""
_RISK_STYLES = {"high": "bold red", "medium": "bold"}
INDENT = 5
ANSWER, ALLOW, WHY, WHICH = (f"{'':{INDENT}}{prompt} " for prompt in ("answer>", "allow?", "why?", "which?"))
COMMAND, ARGUMENTS, SURE = (f"{'':{INDENT}}{prompt} " for prompt in ("command>", "arguments>", "type yes>"))
_WAYS = "[y] once  [s] this very call, also again in this session"
_OTHER_WAYS = "[e] change it  [n] no  [q] stop the run  [v] show everything"


class Shown(NamedTuple):
    """Lines, and how many there would be more."""

    lines: list[RenderableType]
    left_out: int = 0


def change_lines(files: tuple[FileTouch, ...], *, indent: int, limit: int | None = None) -> Shown:
    """Every file with its changes, which are cut after `limit` lines altogether."""
    lines: list[RenderableType] = []
    left_out, room = 0, limit
    for file in files:
        changes = _changes(file)
        shown = changes if room is None else changes[:room]
        room = None if room is None else room - len(shown)
        left_out += len(changes) - len(shown)
        lines.append(_indented(_heading(file, changes), indent))
        lines += [
            _indented(Text(readable(line), style=_STYLES.get(line[:1], ""), overflow="fold"), indent + 2)
            for line in shown
        ]
    if left_out:
        lines.append(_indented(Text(f"… {plural(left_out, 'more line')}", style="dim"), indent + 2))
    return Shown(lines, left_out)


def _changes(file: FileTouch) -> list[str]:
    """The lines of a change without the names above it, which the heading tells."""
    lines = file.diff.split("\n") if file.diff else []
    named = len(lines) > 1 and all(line.startswith(mark) for line, mark in zip(lines, _HEADINGS, strict=False))
    return lines[2:] if named else lines


def _heading(file: FileTouch, changes: list[str]) -> Text:
    come, go = (sum(line.startswith(mark) for line in changes) for mark in "+-")
    counts = [(f"  +{come}", "green")] if come else []
    counts += [(f"  -{go}", "red")] if go else []
    return Text.assemble((file.touch, "bold"), f" {readable_line(file.path)}", *counts)


def _indented(text: Text, indent: int) -> RenderableType:
    return Padding(text, (0, 0, 0, indent), expand=False)


def fence_line(fence: Fence) -> dict[str, str]:
    """The fence in a few lines: what it is, and what can be written, read and reached; nothing without a process."""
    if not fence:
        return {}
    if not fence.get("active"):
        return {"fence": NONE}
    words = [_word(fence, "adapter"), _word(fence, "profile"), _network(fence)]
    gaps = [gap.partition(":")[0] for gap in _texts(fence, "gaps")]
    missing = f"{plural(len(gaps), 'gap')}: {', '.join(gaps)}" if gaps else ""
    return {"fence": readable_line(" · ".join(filter(None, [*words, missing])))} | _places(fence, SHOWN_PLACES)


def fence_facts(fence: Fence) -> dict[str, str]:
    """Everything that is known of it."""
    facts = {
        "runs": shlex.join(_texts(fence, "argv")),
        "promises": ", ".join(_texts(fence, "promises")),
        "gaps": "\n".join(map(readable_line, _texts(fence, "gaps"))),
        "policy": _word(fence, "policy"),
    }
    every = fence_line(fence) | _places(fence) | _hosts(fence)
    return every | {label: text if label == "gaps" else readable_line(text) for label, text in facts.items()}


def _places(fence: Fence, most: int | None = None) -> dict[str, str]:
    """What can be written and read, and what in it cannot; of long lists the beginning."""
    files = _mapping(fence, "file_access")
    if not files:
        return {}
    workspace, left_out = _word(files, "workspace"), _mapping(files, "left_out")
    found: dict[str, str] = {}
    for name, label in _LABELS.items():
        paths = [_place(path, workspace) for path in _texts(files, name)]
        paths += [f"its own {files['temporary']}"] if name == "writable" and files.get("temporary") else []
        paths += ["the system's programs"] if name == "readable" and _texts(files, "system") else []
        found[label] = _listed(paths, most, cast("int", left_out.get(name, 0)))
    return {label: text for label, text in found.items() if text}


def _place(path: str, workspace: str) -> str:
    """A path as short as it can be told; one in the workspace by its way from there."""
    if path == workspace:
        return "the workspace"
    inside = path.removeprefix(f"{workspace}/")
    return readable_line(f"./{inside}" if inside != path else path)


def _listed(paths: list[str], most: int | None, left_out: int) -> str:
    rest = left_out + (max(0, len(paths) - most) if most is not None else 0)
    return ", ".join(paths[:most]) + (f" and {rest} more" if rest else "")


def _network(fence: Fence) -> str:
    network = fence.get("network")
    if not isinstance(network, str) or not network:
        return ""
    hosts = [*_texts(_mapping(fence, "egress"), "allow"), *_texts(_mapping(fence, "egress"), "allow_private")]
    return f"network {network}" + (f" ({_listed(hosts, SHOWN_PLACES, 0)})" if hosts else "")


def _hosts(fence: Fence) -> dict[str, str]:
    """The hosts that can be reached, each; those of the call itself have that name already."""
    egress = _mapping(fence, "egress")
    facts = {
        "reaches": [*_texts(egress, "allow"), *_texts(egress, "allow_private")],
        "never": _texts(egress, "deny"),
    }
    return {label: readable_line(", ".join(hosts)) for label, hosts in facts.items() if hosts}


def _mapping(fence: Fence, name: str) -> Fence:
    value: Any = fence.get(name)
    return cast("Fence", value) if isinstance(value, Mapping) else {}


def _word(fence: Fence, name: str) -> str:
    value = fence.get(name)
    return value if isinstance(value, str) else ""


def _texts(fence: Fence, name: str) -> list[str]:
    value: Any = fence.get(name)
    return [str(one) for one in cast("list[object]", value)] if isinstance(value, list | tuple) else []


def grant_of(rule: Rule, scope: Scope) -> str:
    """The calls that a rule allows, and where."""
    words = [
        f"{_quoted(rule.tool)} {_commands(rule)}" if rule.command else f"calls of {_quoted(rule.tool)}",
        f"on {_quoted(rule.path)}" if rule.path else "",
        f"to {_quoted(rule.host)}" if rule.host else "",
        f"by the skill {_quoted(rule.skill)}" if rule.skill else "",
        "in this run" if scope == "run" else "in all your runs",
    ]
    return readable_line(" ".join(filter(None, words)))


def _commands(rule: Rule) -> str:
    exact = all(words[-1:] == (END,) for words in rule.command)
    shown = _quoted(shlex.join(word for word in words if word != END) for words in rule.command)
    return f"commands that are exactly {shown}" if exact else f"commands that begin with {shown}"


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def rule_of(request: ApprovalRequest, scope: Scope) -> Rule:
    """The rule that allows a call from now on; raises where there is none."""
    if request.risk.get("level") == "high":
        raise _no_rule("it is of high risk")
    return rule_for(request, scope)


def _no_rule(why: str) -> ValidationFailed:
    hint = "approve it once, or write a rule yourself"
    return ValidationFailed(f"no rule can be made of this call: {why}", hint=hint)


def rules_of(request: ApprovalRequest, *, lasting: bool = True) -> dict[str, Rule]:
    """The rules that can be made of a call, by how far they reach; `lasting` ones outlive the run."""
    beyond = "skill" if request.intent.skill else "you"  # a rule for a skill's action holds for that skill only
    try:
        return {word: rule_of(request, SCOPE_WORDS[word]) for word in (("run", beyond) if lasting else ("run",))}
    except ValidationFailed:
        return {}


def why_no_rule(request: ApprovalRequest) -> str:
    """Why no rule can be made of a call."""
    try:
        rule_of(request, "run")
    except ValidationFailed as error:
        return f"{error.message}; {error.hint}"
    return ""


def read_arguments(text: str) -> dict[str, Any]:
    """Arguments that somebody typed, or wrote to a file."""
    hint = 'write an object, such as {"path": "notes.md"}'
    try:
        arguments: Any = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValidationFailed(f"the arguments are not JSON: {error}", hint=hint) from None
    if not isinstance(arguments, dict):
        raise ValidationFailed("the arguments are not a JSON object", hint=hint)
    return cast("dict[str, Any]", arguments)


def line_argument(request: ApprovalRequest) -> str | None:
    """The name of the argument that is a line of shell, where there is just one."""
    line = request.intent.line
    names = [name for name, value in request.details.items() if line is not None and value == line]
    return names[0] if len(names) == 1 else None


def title_line(request: ApprovalRequest, *, indent: int) -> Text:
    """Which tool needs an approval, and how bad that could be."""
    level = request.risk.get("level", "")
    style = _RISK_STYLES.get(level)
    risk = [" · ", (f"{readable_line(level)} risk", style)] if style else []
    return Text.assemble(" " * indent, (readable_line(request.tool), "bold"), " needs your approval", *risk)


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
    return {label: readable(text) for label, text in facts.items()}


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
    return {label: readable_line(text) for label, text in facts.items()}


def _arguments(request: ApprovalRequest, *, whole: bool) -> tuple[dict[str, str], int]:
    """The arguments that are not told otherwise, and how many characters of them were left out."""
    facts: dict[str, str] = {}
    left_out = 0
    for name, value in request.details.items():
        if _is_told(name, value, request):
            continue
        shown, rest = _cut(
            readable(value if isinstance(value, str) else msgspec.json.encode(value).decode()), whole=whole
        )
        left_out += rest
        # The sign tells arguments, which anybody may name, from what we say ourselves.
        label = f"{cut(readable_line(name), LABEL_CELLS)} ="
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
        grid.add_row(Text(">" if number else "$"), Text(readable(line), style="bold"))
    if left_out:
        grid.add_row(Text(), Text(_more(left_out), style="dim"))
    return Padding(grid, (0, 0, 0, indent), expand=False)


def question_lines(question: Question) -> Iterator[RenderableType]:
    """A question with its choices, numbered."""
    title = f"{readable_line(question.header)}: " if question.header else ""
    yield _paragraph(f"{title}{readable(question.question)}", style="bold")
    if question.context:
        yield _paragraph(readable(question.context), style="dim")
    choices = {
        str(number): readable_line(choice.label)
        + (f"  {readable_line(choice.description)}" if choice.description else "")
        for number, choice in enumerate(question.choices, start=1)
    }
    if choices:
        yield labelled(choices, indent=INDENT, width=2)


def approval_lines(request: ApprovalRequest, *, whole: bool = False) -> Iterator[RenderableType]:
    """What a call would do, and what helps to judge it; `whole` leaves nothing out."""
    if not whole:
        yield title_line(request, indent=INDENT)
    yield from call_lines(request, indent=INDENT + 2, whole=whole).lines
    yield fact_lines(request, indent=INDENT + 2, whole=whole)


def ways_line(*, ruled: bool, timeout_ms: int | None = None) -> RenderableType:
    """What may be typed; `ruled` when a rule can be made of the call."""
    rule = "  [r] yes, and add a rule" if ruled else ""
    late = f"  (no after {duration(timeout_ms)})" if timeout_ms else ""
    return _paragraph(f"{_WAYS}{rule}\n{_OTHER_WAYS}{late}", style="dim")


def rule_lines(rules: Mapping[str, Rule]) -> Iterator[RenderableType]:
    """A rule in full, and what it would allow, by the words for how far it reaches."""
    yield _paragraph("the rule", style="bold")
    yield rule_paragraph(next(iter(rules.values())), indent=INDENT + 2)
    offers = {f"[{word}]": f"allow {grant_of(rule, SCOPE_WORDS[word])}" for word, rule in rules.items()}
    yield labelled(offers, indent=INDENT, width=0)
    yield hint("anything else goes back")


def rule_paragraph(rule: Rule, *, indent: int) -> RenderableType:
    """A rule as it stands in a rule file."""
    return Padding(Text(readable(rule_text(rule).rstrip("\n")), overflow="fold"), (0, 0, 0, indent), expand=False)


def hint(text: str) -> RenderableType:
    """What may be typed instead."""
    return _paragraph(readable_line(text), style="dim")


def instead_line(text: str) -> RenderableType:
    """What would be done instead, as somebody typed it."""
    return Padding(Text.assemble(("instead: ", "dim"), readable(text)), (0, 0, 0, INDENT), expand=False)


def _paragraph(text: str, *, style: str) -> RenderableType:
    return Padding(Text(text, style=style), (0, 0, 0, INDENT), expand=False)
