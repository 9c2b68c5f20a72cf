"""Reads Python code by its syntax tree: what it runs, what secrets it reads and where it sends them."""

import ast
import re
import warnings
from collections.abc import Iterator

from skills_runtime.skills.security.hosts import URL, is_bad, kind_of
from skills_runtime.skills.security.marks import Mark, Profile, mark
from skills_runtime.skills.security.python_flow import Flow
from skills_runtime.skills.security.python_values import MAX_TEXT, dotted, is_decoder, text_of
from skills_runtime.skills.security.secrets_read import secrets_in
from skills_runtime.skills.security.shell import shell_marks
from skills_runtime.skills.security.text import Text

MAX_NODES = 60_000
_WORTH = re.compile(
    r"\b(?:exec|eval|compile|system|popen|Popen|subprocess|pty|socket|requests|urllib\w*|httpx|aiohttp|smtplib|ftplib|marshal"
    r"|ctypes|importlib|__import__|getattr|codecs|execvp|execl|create_subprocess_\w+|http\.client|paramiko)\b|b64|b85|b32|unhexlify|fromhex"
)
"""Words without one of which a file neither runs nor sends anything."""
_RUNS_CODE = frozenset(
    {"exec", "eval", "builtins.exec", "builtins.eval", "__import__().exec", "runpy.run_path", "types.FunctionType"}
)
_RUNS_COMMANDS = frozenset(
    {
        "os.system",
        "os.popen",
        "subprocess.run",
        "subprocess.call",
        "subprocess.Popen",
        "subprocess.check_output",
        "subprocess.check_call",
        "subprocess.getoutput",
        "commands.getoutput",
        "pty.spawn",
        "os.execvp",
        "os.execl",
        "asyncio.create_subprocess_shell",
        "asyncio.create_subprocess_exec",
    }
)


def python_marks(text: Text, profile: Profile) -> Iterator[Mark]:
    """Everything in a Python file; one that cannot be parsed is read as commands."""
    if not (_WORTH.search(text.body) or secrets_in(text.body)):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from shell_marks(text.body, 0, len(text.body), profile)
        return
    nodes = _nodes(tree)
    yield from _Reading(text, nodes, profile).marks()


def _nodes(tree: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for node in ast.walk(tree):
        found.append(node)
        if len(found) >= MAX_NODES:
            break
    return found


class _Reading:
    """One file while it is read."""

    def __init__(self, text: Text, nodes: list[ast.AST], profile: Profile) -> None:
        self.text = text
        self.profile = profile
        self.nodes = nodes
        self.calls = [node for node in nodes if isinstance(node, ast.Call)]
        self.flow = Flow(nodes)
        self.documents = {
            id(node.value) for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }

    def place(self, node: ast.AST) -> tuple[int, int]:
        """Where a node is in the text; columns count bytes, so the line is what is meant."""
        line: int = getattr(node, "lineno", 1)
        last: int = getattr(node, "end_lineno", line) or line
        start = self.text.starts[min(line, len(self.text.starts)) - 1]
        end = self.text.starts[last] - 1 if last < len(self.text.starts) else len(self.text.body)
        return start, max(start, end)

    def marks(self) -> Iterator[Mark]:
        """What the file does."""
        for call in self.calls:
            yield from self._call(call)
        yield from self._reverse_shell()
        yield from self._constants()
        yield from self._sent()

    def _call(self, call: ast.Call) -> Iterator[Mark]:
        name = self.flow.full_name(dotted(call.func))
        if name in _RUNS_CODE and call.args:
            yield from self._code(call, call.args[0])
        elif name in _RUNS_COMMANDS and call.args:
            yield from self._command(call, call.args[0])
        elif name.endswith((".__import__", "importlib.import_module")) and call.args and is_decoder(call.args[0]):
            yield mark("X001", *self.place(call), "high")
        elif name == "getattr" and len(call.args) > 1 and _is_assembled(call.args[1]):
            yield mark("H006", *self.place(call), "medium")

    def _code(self, call: ast.Call, argument: ast.expr) -> Iterator[Mark]:
        if isinstance(argument, ast.Call) and dotted(argument.func) == "compile" and argument.args:
            argument = argument.args[0]
        if self.flow.is_fetched(argument):
            yield mark("X007", *self.place(call), "critical")
        elif self.flow.is_decoded(argument):
            yield mark("X001", *self.place(call), "critical")
        elif _is_assembled(argument):
            yield mark("X001", *self.place(call), "high")

    def _command(self, call: ast.Call, argument: ast.expr) -> Iterator[Mark]:
        if self.flow.is_fetched(argument) and not isinstance(argument, ast.List):
            yield mark("X007", *self.place(call), "high")
        elif self.flow.is_decoded(argument):
            yield mark("X001", *self.place(call), "high")
        command = self._spelled(argument)
        if command:
            start, end = self.place(call)
            for found in shell_marks(command, 0, len(command), self.profile):
                yield mark(found.code, start, end, found.severity, shown=found.shown or command)

    def _spelled(self, argument: ast.expr) -> str:
        if isinstance(argument, ast.List | ast.Tuple):
            parts = [text_of(each, self.flow.texts) or "{}" for each in argument.elts[:200]]
            return " ".join(
                f"'{part}'" if " " in part and part not in ("-c",) and index < 2 else part
                for index, part in enumerate(parts)
            )
        return text_of(argument, self.flow.texts) or ""

    def _reverse_shell(self) -> Iterator[Mark]:
        names = {self.flow.full_name(dotted(call.func)).rsplit(".", 1)[-1]: call for call in self.calls}
        connects = "connect" in names or "create_connection" in names
        if connects and "dup2" in names and ("spawn" in names or {"call", "Popen", "run", "system"} & names.keys()):
            yield mark("X005", *self.place(names["dup2"]))
            return
        if connects and "recv" in names and {"send", "sendall"} & names.keys() and "socket" in names:
            runs = [call for call in self.calls if self.flow.full_name(dotted(call.func)) in _RUNS_COMMANDS]
            for call in runs:
                if call.args and self.flow.is_received(call.args[0]):
                    yield mark("X005", *self.place(call))
                    return

    def _constants(self) -> Iterator[Mark]:
        """Text that only appears once it is put together or decoded."""
        for node in self.nodes:
            if not isinstance(node, ast.Call | ast.BinOp | ast.Subscript):
                continue
            if isinstance(node, ast.BinOp) and not (
                isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant)
            ):
                continue
            said = text_of(node, self.flow.texts)
            if not said or len(said) < 8 or len(said) >= MAX_TEXT:
                continue
            hidden = (isinstance(node, ast.Call) and is_decoder(node)) or _is_assembled(node)
            if hidden and (URL.search(said) or secrets_in(said) or "/bin/sh" in said or "curl " in said):
                severity = (
                    "high"
                    if any(is_bad(match[0]) for match in URL.finditer(said)) or not URL.search(said)
                    else "medium"
                )
                yield mark("H005", *self.place(node), severity, shown=f"amounts to: {said}")

    def _sent(self) -> Iterator[Mark]:
        sinks = [call for call in self.calls if self.flow.is_sink(call)]
        if not sinks:
            yield from self._only_read()
            return
        addresses = self._addresses()
        outside = [each for each in addresses if kind_of(each) not in ("known", "local")]
        bad = [each for each in addresses if is_bad(each)]
        for call in sinks:
            kind = self.flow.secret_sent(call)
            if kind == "environment" and (outside or not addresses):
                yield mark("D003", *self.place(call), "critical")
            elif (kind == "secret" and (outside or not addresses)) or (kind == "fair" and bad):
                yield mark("D001", *self.place(call), "critical")
            elif kind == "fair" and outside:
                yield mark("D001", *self.place(call), "high")
        for node, level in self.flow.reads:
            if level == "strong" and (outside or not addresses):
                yield mark("D002", *self.place(node), "high" if outside and (bad or len(addresses) < 4) else "medium")

    def _only_read(self) -> Iterator[Mark]:
        for node, level in self.flow.reads:
            if level == "strong":
                yield mark("D006", *self.place(node))

    def _addresses(self) -> list[str]:
        texts = [
            node.value
            for node in self.nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in self.documents
        ]
        found = [match[0] for text in texts for match in URL.finditer(text[:MAX_TEXT])]
        return [*found, *(match[0] for text in self.flow.texts.values() for match in URL.finditer(text))]


def _is_assembled(node: ast.AST) -> bool:
    """Whether a text is put together from characters or turned around so that nobody finds it by searching."""
    if isinstance(node, ast.Call):
        last = dotted(node.func).rsplit(".", 1)[-1]
        if last == "join" and node.args:
            part = node.args[0]
            inner = part.elt if isinstance(part, ast.GeneratorExp | ast.ListComp) else part
            return isinstance(inner, ast.Call) and dotted(inner.func) in ("chr", "map")
        return last in ("decode",) and isinstance(node.func, ast.Attribute) and is_decoder(node.func.value)
    if isinstance(node, ast.Subscript):
        return (
            isinstance(node.slice, ast.Slice)
            and isinstance(node.slice.step, ast.UnaryOp)
            and isinstance(node.value, ast.Constant)
        )
    if isinstance(node, ast.BinOp):
        return isinstance(node.left, ast.Call) and dotted(node.left.func) == "chr"
    return False
