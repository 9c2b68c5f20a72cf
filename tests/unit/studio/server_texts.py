"""Every sentence of the service that a person may see in Studio, read from its sources."""

import ast
import re
from collections.abc import Iterator

from tests.support import ROOT

SOURCES = ROOT / "src/skills_runtime"
PARTS = (
    "agent", "config", "engine", "errors.py", "events", "executions", "ledger", "llm", "processes", "runs", "safety",
    "sandbox", "service", "skills",
)  # fmt: skip
"""The packages whose sentences reach Studio; those of the command line and of the tools, which models read, do not."""
ELSEWHERE = (
    # Settings are shown by their names; these descriptions are read in the reference.
    "config/egress_models.py", "config/models.py", "config/service_models.py", "config/skill_models.py",
    # What only the command line and programs use.
    "agent/coordinator.py", "agent/facade.py", "engine/runtime_server.py", "engine/served_children.py",
    "engine/skill_evals", "processes/server", "runs/page.py", "sandbox/overlay", "service/serving.py",
    "service/settings.py", "skills/scripts", "skills/standard/writing.py",
    # What a model is told, and what happens on the other side of the fence.
    "agent/prompt.py", "agent/window.py", "executions/inside", "executions/zygotes.py", "llm/output.py",
    "processes/supervision", "sandbox/egress/inside.py", "sandbox/egress/wire", "sandbox/seccomp", "skills/activation",
    "skills/catalog", "skills/choosing.py", "skills/prompt/profile.py", "skills/prompt/system.py",
    "skills/prompt/tree.py",
    # Words that are looked for in tasks and skills.
    "skills/routing/clauses.py", "skills/security/instruction_rules.py",
    # What describes the interface to programs.
    "service/app.py", "service/documents.py", "service/health.py", "service/metrics.py", "service/opening.py",
    "service/pages.py", "service/previews.py", "service/reference_page.py", "service/run_documents.py",
)  # fmt: skip
"""Where sentences are for somebody else."""
COMMON = re.compile(
    r"(?<![\w-])(?:a|an|the|is|are|was|be|has|have|had|it|its|of|to|in|on|at|by|from|for|with|and|or|not|no|none|only|"
    r"that|this|these|what|who|which|where|when|than|them|so|as|more|cannot|may|must|does|do|did|nothing|nobody|"
    r"another|there|use|name|check|make|give|try|set)(?![\w-])"
)
"""A word that stands in nearly every sentence and in hardly any list of names."""
NO_PROSE = re.compile(
    r"\(\?|\\[bswdn]|\[\^|\{\d|\||<\w+|^\(|\n|SELECT |^import |=\{\}$|\[Any|Generator\[|;\w|^-\w|^\w+_\w+ |^[$/]|"
    r"\.\*|-o[A-Z]|['‘\"]\]|^Environment\(|^\w+\.\w+$|^\{ |^vi vim"
)
"""What patterns, commands, types and tables of words look like."""
WHAT_OTHERS_SAY = {
    "device or resource busy", "end of probe", "end to end", "no password supplied", "no space left on device",
    "not our ref", "operation not permitted", "sandbox; default-src 'none'",
}  # fmt: skip
"""Words of other programs that are looked for."""
ERROR = re.compile(
    r"[A-Z]\w*(?:Conflict|Corrupt|Denied|Disabled|Ended|Error|Escape|Exists|Failed|Found|Locked|Missing|New|Refused|"
    r"Stale|Transition)|Busy"
)
FOR_PROGRAMS = {"Path", "Query", "Header", "Doc", "compile", "getLogger", "cast"}
HOLE = "{}"


def sentences() -> dict[str, str]:
    """Every sentence with `{}` where it differs each time, and the file it stands in."""
    found: dict[str, str] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if name.startswith(PARTS) and not name.startswith(ELSEWHERE):
            routes = name.startswith("service/routes")
            for text in _texts(ast.parse(path.read_text())):
                if text not in WHAT_OTHERS_SAY and not (routes and text.endswith((".", "before."))):
                    found.setdefault(text, name)
    return found


def _texts(tree: ast.Module) -> Iterator[str]:
    """What stands in a module as text for people: not its documentation, and no part of a longer text."""
    left_out = {id(one) for node in ast.walk(tree) for one in _no_texts(node)}
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if (text := _template(node)) and _is_prose(text):
            yield text
        if isinstance(node, ast.Call) and _is_refusal(node):
            given = [*node.args[:2], *(one.value for one in node.keywords if one.arg == "hint")]
            yield from (text for one in given for text in _choices(one) if re.search(r"[a-z]{2,} [a-z]{2,}", text))


def _no_texts(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield from (one.value for one in node.body if isinstance(one, ast.Expr))
    if isinstance(node, ast.JoinedStr):
        yield from node.values
    if isinstance(node, ast.Call) and _called(node) in FOR_PROGRAMS:
        yield from (inner for one in (*node.args, *(word.value for word in node.keywords)) for inner in ast.walk(one))
    if isinstance(node, ast.Assert):
        yield from ast.walk(node)


def _choices(node: ast.expr) -> Iterator[str]:
    """The texts that an argument may be."""
    if isinstance(node, ast.IfExp):
        yield from (*_choices(node.body), *_choices(node.orelse))
    elif isinstance(node, ast.BoolOp):
        yield from (text for one in node.values for text in _choices(one))
    elif text := _template(node):
        yield text


def _template(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"\{[a-z]\w*\}", HOLE, node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(one.value) if isinstance(one, ast.Constant) else HOLE for one in node.values)
    return None


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _is_refusal(call: ast.Call) -> bool:
    return bool(ERROR.fullmatch(_called(call))) or any(one.arg == "hint" for one in call.keywords)


def _is_prose(text: str) -> bool:
    words = re.findall(r"[A-Za-z]{2,}|\ba\b", text.replace(HOLE, " "))
    return len(words) >= 2 and not NO_PROSE.search(text) and bool(COMMON.search(text))
