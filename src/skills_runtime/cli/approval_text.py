"""Text of an approval request: the short card, the exact call, its sandbox, and the rule it could add."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skills_runtime.cli.language import translate
from skills_runtime.cli.output import format_count, labeled_table, plural, truncate
from skills_runtime.ports import ApprovalRequest, FileTouch, Intent
from skills_runtime.text import readable, readable_line

if TYPE_CHECKING:
    from skills_runtime.safety.policy import Rule

RISK_STYLES = {"high": "bold red", "medium": "bold"}
_DIFF_HEADINGS = ("--- ", "+++ ")
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
SandboxFacts = Mapping[str, Any]
NO_SANDBOX = "none: the command runs with all your permissions"
_NETWORKS = {"none": "no network", "host": "open network"}
_ACCESS = {"writable": "writes", "readable": "reads", "protected": "protected", "hidden": "hidden"}
MAX_LABEL_CELLS = 24
MAX_LINES = 6
"""Lines shown of a diff or an argument on a card; the rest is shown before the call can be approved."""
MAX_CHARS = 500
LABEL = 9
_DIFF_ARGUMENTS = {"file_write": "content", "apply_patch": "input"}
"""Arguments, by tool, that are shown as a diff instead."""


RULE_REACH = {"run": "in this run", "folder": "in this folder"}
"""Where rules of narrow scopes apply."""


class TruncatedLines(NamedTuple):
    """Rendered lines, and how many were left out."""

    lines: list[RenderableType]
    left_out: int = 0


def card_lines(request: ApprovalRequest, *, indent: int) -> Iterator[RenderableType]:
    """Render a request in three lines: the tool and its risk, the call, and the sandbox with the rule that asks.

    A call takes more lines where it is longer or has more parts: nothing of what would run is left to the details.
    """
    yield title_line(request, indent=indent)
    yield from call_lines(request, indent=indent + 2).lines
    intent = request.intent
    parts = _list_surroundings(intent)
    if intent.escalated and intent.justification:
        parts["reason"] = f"the model says: {intent.justification}"
    parts = {label: readable(text) for label, text in parts.items() if text}
    if parts:
        yield labeled_table(parts, indent=indent + 2, width=LABEL)
    yield _reason_line(request, indent=indent + 2)


def title_line(request: ApprovalRequest, *, indent: int) -> RenderableType:
    """Render the tool that needs an approval, the skill it acts for, and the risk."""
    level, reason = request.risk.get("level", ""), request.risk.get("reason", "")
    style = RISK_STYLES.get(level, "")
    name = translate("approval.high", "high risk") if level == "high" else translate("approval.medium", "medium risk")
    risk = [" · ", (name, style), f": {readable_line(reason)}" if reason else ""]
    text = Text.assemble(
        (readable_line(request.tool), "bold"),
        translate("approval.needs", " needs your approval"),
        f" · skill {readable_line(request.intent.skill)}" if request.intent.skill else "",
        *(risk if style else []),
        no_wrap=True,
        overflow="ellipsis",
    )
    return _indent(text, indent)


def _list_surroundings(intent: Intent) -> dict[str, str]:
    """List the parts of a call besides its command: typed input, directory, variables and hosts."""
    has_command = _format_command(intent) is not None
    return {
        "types": "" if intent.typed is None else msgspec.json.encode(intent.typed).decode(),
        "directory": intent.directory if has_command and intent.directory != "." else "",
        "sets": " ".join(f"{name}={shlex.quote(value)}" for name, value in intent.environment.items()),
        "hosts": ", ".join(intent.hosts),
    }


def _reason_line(request: ApprovalRequest, *, indent: int) -> RenderableType:
    """Render where a call would run and why a person is asked; the line is cut where the terminal ends."""
    sandbox, why = request.intent.fence, request.why or request.rule
    text = Text(no_wrap=True, overflow="ellipsis")
    if sandbox and sandbox.get("active"):
        text.append(_describe_sandbox(sandbox), "dim")
    elif sandbox:
        unconfined = translate("approval.no_sandbox", "no sandbox: it runs with all your permissions")
        text.append(unconfined, RISK_STYLES["high"])
    if why:
        text.append(" · " if sandbox else "", "dim")
        asked_by = translate("approval.asked_by", "asked by {rule}", rule=request.rule)
        text.append(readable_line(request.why or asked_by), "dim")
    return _indent(text, indent)


def _describe_sandbox(sandbox: SandboxFacts) -> str:
    """Describe the sandbox of a call in a few words; its gaps are among the details."""
    network = _get_text(sandbox, "network")
    hosts = _join_names(_list_allowed_hosts(sandbox), 2, 0)
    reach = f"network {hosts or network}" if network == "allow-list" else _NETWORKS.get(network, network)
    return readable_line(f"sandbox {', '.join(filter(None, (_get_text(sandbox, 'profile'), reach)))}")


def call_lines(request: ApprovalRequest, *, indent: int, full: bool = False) -> TruncatedLines:
    """Show exactly what a call would do: the command, the file changes and the other arguments."""
    intent, lines = request.intent, list[RenderableType]()
    command = _format_command(intent)
    if command is not None:
        # Never truncated: the end of a command may be what matters. Each line gets a prompt, so that none can imitate
        # our own output.
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(no_wrap=True, style="dim")
        grid.add_column(overflow="fold")
        for number, line in enumerate(command.split("\n")):
            grid.add_row(Text(">" if number else "$"), Text(readable(line), style="bold"))
        lines.append(Padding(grid, (0, 0, 0, indent), expand=False))
    changes = change_lines(intent.files, indent=indent, limit=None if full else MAX_LINES)
    arguments, left_out = _list_arguments(request, full=full)
    lines += changes.lines
    if arguments:
        lines.append(labeled_table(arguments, indent=indent, width=LABEL))
    return TruncatedLines(lines, changes.left_out + left_out)


def _format_command(intent: Intent) -> str | None:
    """Return the command line a call would run, quoted for a shell."""
    return intent.line if intent.line is not None else shlex.join(intent.argv) if intent.argv else None


def change_lines(files: tuple[FileTouch, ...], *, indent: int, limit: int | None = None) -> TruncatedLines:
    """Render the diff of each file, at most `limit` lines in total."""
    lines: list[RenderableType] = []
    left_out, remaining = 0, limit
    for file in files:
        changes = file.diff.split("\n") if file.diff else []
        marks = zip(changes, _DIFF_HEADINGS, strict=False)
        if len(changes) > 1 and all(line.startswith(mark) for line, mark in marks):  # our heading has the names
            changes = changes[2:]
        visible = changes if remaining is None else changes[:remaining]
        remaining = None if remaining is None else remaining - len(visible)
        left_out += len(changes) - len(visible)
        come, go = (sum(line.startswith(mark) for line in changes) for mark in "+-")
        counts = [(f"  +{come}", "green")] if come else []
        counts += [(f"  -{go}", "red")] if go else []
        lines.append(_indent(Text.assemble((file.touch, "bold"), f" {readable_line(file.path)}", *counts), indent))
        for line in visible:
            style = _DIFF_STYLES.get(line[:1], "")
            lines.append(_indent(Text(readable(line), style=style, overflow="fold"), indent + 2))
    if left_out:
        lines.append(_indent(Text(f"… {plural(left_out, 'more line')}", style="dim"), indent + 2))
    return TruncatedLines(lines, left_out)


def _indent(text: Text, indent: int) -> RenderableType:
    return Padding(text, (0, 0, 0, indent), expand=False)


def _list_arguments(request: ApprovalRequest, *, full: bool) -> tuple[dict[str, str], int]:
    """List the arguments that are not shown elsewhere, and count the characters left out."""
    facts: dict[str, str] = {}
    left_out = 0
    for name, value in request.details.items():
        if _is_shown(name, value, request):
            continue
        text, omitted = _truncate_text(
            readable(value if isinstance(value, str) else msgspec.json.encode(value).decode()), full=full
        )
        left_out += omitted
        # The `=` separates arguments, whose names the model chooses, from our own labels.
        label = f"{truncate(readable_line(name), MAX_LABEL_CELLS)} ="
        while label in facts:  # two names that look alike must not hide an argument
            label = f"{label[:-2]}' ="
        facts[label] = f"{text}\n… {format_count(omitted)} more characters" if omitted else text
    return facts, left_out


def _is_shown(name: str, value: Any, request: ApprovalRequest) -> bool:
    """Return whether an argument is already shown as the command, a diff or a fact."""
    intent = request.intent
    if name in ("host", "port") and f"{request.details.get('host')}:{request.details.get('port')}" in intent.hosts:
        return True
    if _DIFF_ARGUMENTS.get(request.tool) == name and any(file.diff for file in intent.files):
        return True
    shown_values: list[Any] = [
        intent.line,
        list(intent.argv),
        intent.typed,
        dict(intent.environment),
        intent.justification,
    ]
    shown_values += [file.path for file in intent.files]
    shown_values += [intent.directory] if intent.directory != "." else []
    return any(
        shown_value and type(value) is type(shown_value) and value == shown_value for shown_value in shown_values
    )


def _truncate_text(text: str, *, full: bool) -> tuple[str, int]:
    visible = text if full else "\n".join(text[:MAX_CHARS].split("\n")[:MAX_LINES])
    return visible, len(text) - len(visible)


def fact_lines(request: ApprovalRequest, *, indent: int) -> RenderableType:
    """Render all surroundings, the risk, the rule and the sandbox of a call."""
    intent, risk = request.intent, request.risk
    surroundings = _list_surroundings(intent) | {
        "workspace": request.workspace,
        "script": ", ".join(f"{name} (sha256 {digest[:16]}…)" for name, digest in intent.digests.items()),
        "skill": intent.skill,
    }
    part = f": {risk['part']}" if risk.get("part") else ""
    reasons = {
        "risk": f"{risk.get('level', '')}, {risk['reason']}{part}" if risk.get("reason") else "",
        "asked by": request.rule + (f": {request.why}" if request.why else ""),
        "wants": "more access than the sandbox allows" if intent.escalated else "",
        "reason": f"the model says: {intent.justification}" if intent.justification else "",
    }
    facts = {label: readable(text) for label, text in surroundings.items()}
    facts |= {label: readable_line(text) for label, text in reasons.items()}
    facts |= sandbox_details(intent.fence)
    return labeled_table({label: text for label, text in facts.items() if text}, indent=indent, width=LABEL)


def sandbox_details(sandbox: SandboxFacts) -> dict[str, str]:
    """List all facts about the sandbox of a call; empty for calls that start no process."""
    if not sandbox:
        return {}
    facts = {"sandbox": _summarize_sandbox(sandbox), **_list_access(sandbox)}
    facts |= {
        "reaches": ", ".join(_list_allowed_hosts(sandbox)),
        "never": ", ".join(_get_texts(_get_mapping(sandbox, "egress"), "deny")),
        "runs": shlex.join(_get_texts(sandbox, "argv")),
        "promises": ", ".join(_get_texts(sandbox, "promises")),
        "policy": _get_text(sandbox, "policy"),
    }
    gaps = "\n".join(map(readable_line, _get_texts(sandbox, "gaps")))
    return {label: readable_line(text) for label, text in facts.items()} | {"gaps": gaps}


def _summarize_sandbox(sandbox: SandboxFacts) -> str:
    if not sandbox.get("active"):
        return NO_SANDBOX
    network, gaps = _get_text(sandbox, "network"), _get_texts(sandbox, "gaps")
    parts = [
        _get_text(sandbox, "adapter"),
        _get_text(sandbox, "profile"),
        f"network {network}" if network else "",
        plural(len(gaps), "gap") if gaps else "",
    ]
    return " · ".join(filter(None, parts))


def _list_access(sandbox: SandboxFacts) -> dict[str, str]:
    """List the paths a call can write, read or not reach."""
    files = _get_mapping(sandbox, "file_access")
    if not files:
        return {}
    workspace, left_out = _get_text(files, "workspace"), _get_mapping(files, "left_out")

    def short(path: str) -> str:
        if path == workspace:
            return "the workspace"
        inside = path.removeprefix(f"{workspace}/")
        return readable_line(f"./{inside}" if inside != path else path)

    access: dict[str, str] = {}
    for name, label in _ACCESS.items():
        paths = [short(path) for path in _get_texts(files, name)]
        paths += [f"its own {files['temporary']}"] if name == "writable" and files.get("temporary") else []
        paths += ["system programs"] if name == "readable" and _get_texts(files, "system") else []
        access[label] = _join_names(paths, None, cast("int", left_out.get(name, 0)))
    return {label: text for label, text in access.items() if text}


def _list_allowed_hosts(sandbox: SandboxFacts) -> list[str]:
    egress = _get_mapping(sandbox, "egress")
    return [*_get_texts(egress, "allow"), *_get_texts(egress, "allow_private")]


def _join_names(names: list[str], most: int | None, left_out: int) -> str:
    omitted = left_out + (max(0, len(names) - most) if most is not None else 0)
    return ", ".join(names[:most]) + (f" and {omitted} more" if omitted else "")


def _get_mapping(sandbox: SandboxFacts, name: str) -> SandboxFacts:
    value: Any = sandbox.get(name)
    return cast("SandboxFacts", value) if isinstance(value, Mapping) else {}


def _get_text(sandbox: SandboxFacts, name: str) -> str:
    value = sandbox.get(name)
    return value if isinstance(value, str) else ""


def _get_texts(sandbox: SandboxFacts, name: str) -> list[str]:
    value: Any = sandbox.get(name)
    return [str(item) for item in cast("list[object]", value)] if isinstance(value, list | tuple) else []


def describe_rule(rule: "Rule", scope: str) -> str:
    """Describe the calls that a rule allows, and its scope."""
    from skills_runtime.safety.policy import END  # slow, and help needs none of it

    exact = all(prefix[-1:] == (END,) for prefix in rule.command)
    commands = _quote_names(shlex.join(argument for argument in prefix if argument != END) for prefix in rule.command)
    match_text = "are exactly" if exact else "start with"
    parts = [
        f"{_quote_names(rule.tool)} commands that {match_text} {commands}"
        if rule.command
        else f"calls of {_quote_names(rule.tool)}",
        f"on {_quote_names(rule.path)}" if rule.path else "",
        f"to {_quote_names(rule.host)}" if rule.host else "",
        f"by the skill {_quote_names(rule.skill)}" if rule.skill else "",
        RULE_REACH.get(scope, "in all your runs"),
    ]
    return readable_line(" ".join(filter(None, parts)))


def describe_added_rules(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Describe the rules that decisions of a run added; the name is the one in the rule file."""
    from skills_runtime.engine import read_rules  # slow, and most runs have none

    for record in records:
        for rule in read_rules(record):
            yield f"{readable_line(rule.name)} allows {describe_rule(rule, str(record.get('scope', '')))}"


def _quote_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def rule_paragraph(rule: "Rule", *, indent: int) -> RenderableType:
    """Render a rule as it is written in a rule file."""
    from skills_runtime.safety.policy import render_rule  # slow, and help needs none of it

    return _indent(Text(readable(render_rule(rule).rstrip("\n")), overflow="fold"), indent)
