"""Analyze Python code by its syntax tree: what it runs, which secrets it reads and where it sends them.

Bottom-up: constant texts, data flow through a file, and the resulting marks.
"""

import ast
import base64
import binascii
import codecs
import re
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Literal

from skills_runtime.skills.scan.hosts import URL, classify_host, is_untrusted_host
from skills_runtime.skills.scan.secrets import SecretLevel, find_secret
from skills_runtime.skills.scan.shell import find_shell_marks
from skills_runtime.skills.scan.text import Mark, Profile, Text, mark

MAX_TEXT = 20_000

_DECODERS = frozenset(
    {
        "b64decode",
        "b32decode",
        "b16decode",
        "b85decode",
        "a85decode",
        "urlsafe_b64decode",
        "standard_b64decode",
        "unhexlify",
        "fromhex",
        "decompress",
        "decodebytes",
        "loads_marshal",
        "rot13",
    }
)


def dotted_name(node: ast.expr) -> str:
    """Return the dotted name of an expression, as far as it consists of names and attributes."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    elif isinstance(node, ast.Call):
        parts.append(dotted_name(node.func) + "()")
    return ".".join(reversed(parts))


def is_decoder(node: ast.expr) -> bool:
    """Return whether an expression decodes data."""
    if not isinstance(node, ast.Call):
        return False
    name = dotted_name(node.func)
    last = name.rsplit(".", 1)[-1]
    return last in _DECODERS or name in (
        "marshal.loads",
        "codecs.decode",
        "zlib.decompress",
        "bz2.decompress",
        "lzma.decompress",
    )


def constant_text(node: ast.expr, names: dict[str, str], depth: int = 0) -> str | None:
    """Evaluate an expression to constant text; return None if it is not constant."""
    if depth > 12:
        return None
    if isinstance(node, ast.Constant):
        value = node.value[:MAX_TEXT] if isinstance(node.value, str | bytes) else None
        return value.decode("latin-1") if isinstance(value, bytes) else value
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = constant_text(node.left, names, depth + 1), constant_text(node.right, names, depth + 1)
        return (left + right)[:MAX_TEXT] if left is not None and right is not None else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            constant_text(value.value if isinstance(value, ast.FormattedValue) else value, names, depth + 1) or "{}"
            for value in node.values
        )[:MAX_TEXT]
    if isinstance(node, ast.Subscript):
        return _evaluate_slice(node, names, depth)
    if isinstance(node, ast.Call):
        return _call(node, names, depth)
    return None


def _evaluate_slice(node: ast.Subscript, names: dict[str, str], depth: int) -> str | None:
    part = node.slice
    if isinstance(part, ast.Slice) and part.lower is None and part.upper is None and isinstance(part.step, ast.UnaryOp):
        inner = constant_text(node.value, names, depth + 1)
        return inner[::-1] if inner is not None else None
    return None


def _call(node: ast.Call, names: dict[str, str], depth: int) -> str | None:
    name = dotted_name(node.func)
    last = name.rsplit(".", 1)[-1]
    if last == "join" and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        return _evaluate_join(node.func.value, node.args[0], names, depth)
    if last == "chr" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
        number = node.args[0].value
        return chr(number) if isinstance(number, int) and 0 <= number < 0x110000 else None
    if last in ("decode", "encode", "strip", "expanduser", "Path", "str", "bytes", "expandvars") and (
        node.args or last in ("decode", "encode", "strip")
    ):
        inner = (
            node.func.value
            if isinstance(node.func, ast.Attribute) and last in ("decode", "encode", "strip")
            else node.args[0]
        )
        return constant_text(inner, names, depth + 1)
    if last == "join" and name.endswith("path.join"):
        return "/".join(constant_text(argument, names, depth + 1) or "{}" for argument in node.args)
    return _decode(last, node, names, depth)


def _evaluate_join(separator: ast.expr, parts: ast.expr, names: dict[str, str], depth: int) -> str | None:
    if isinstance(separator, ast.Attribute) and separator.attr == "path":
        return "/".join([constant_text(parts, names, depth + 1) or "{}"])
    between = constant_text(separator, names, depth + 1)
    if between is None:
        return None
    if isinstance(parts, ast.List | ast.Tuple):
        pieces = [constant_text(item, names, depth + 1) for item in parts.elts[:2000]]
        return (
            between.join(item for item in pieces if item is not None)
            if all(item is not None for item in pieces)
            else None
        )
    return _characters(between, parts)


def _characters(between: str, parts: ast.expr) -> str | None:
    """Evaluate `chr(x) for x in [99, 117, …]` and `map(chr, […])`."""
    numbers: ast.expr | None = None
    if (
        isinstance(parts, ast.GeneratorExp | ast.ListComp)
        and isinstance(parts.elt, ast.Call)
        and dotted_name(parts.elt.func) == "chr"
    ):
        numbers = parts.generators[0].iter
    elif isinstance(parts, ast.Call) and dotted_name(parts.func) == "map" and len(parts.args) == 2:
        numbers = parts.args[1]
    if not isinstance(numbers, ast.List | ast.Tuple):
        return None
    values = [item.value for item in numbers.elts if isinstance(item, ast.Constant) and isinstance(item.value, int)]
    return between.join(chr(value) for value in values[:4000] if 0 < value < 0x110000)


def _decode(last: str, node: ast.Call, names: dict[str, str], depth: int) -> str | None:
    if not node.args:
        return None
    inner = constant_text(node.args[0], names, depth + 1)
    if inner is None:
        return None
    data = inner.encode("latin-1", errors="ignore")
    try:
        if last in ("b64decode", "urlsafe_b64decode", "standard_b64decode"):
            return base64.b64decode(data + b"=" * (-len(data) % 4)).decode("latin-1")
        if last in ("fromhex", "unhexlify"):
            return bytes.fromhex(inner).decode("latin-1")
        if last in ("b85decode", "a85decode", "b32decode"):
            decoder = {"b85decode": base64.b85decode, "a85decode": base64.a85decode, "b32decode": base64.b32decode}[
                last
            ]
            return decoder(data).decode("latin-1")
    except (binascii.Error, ValueError):
        return None
    if last == "decode" and len(node.args) > 1 and constant_text(node.args[1], names) in ("rot13", "rot_13"):
        return codecs.encode(inner, "rot13")
    return None


Taint = Literal["fetched", "decoded", "secret", "fair", "environment", "received"]

_FETCHERS = ("urlopen", "urlretrieve")
_CLIENTS = (
    "requests",
    "httpx",
    "session",
    "client",
    "http",
    "aiohttp",
    "urllib3",
    "urllib",
    "self.session",
    "self.client",
)
_OPENERS = frozenset(
    {
        "open",
        "read_text",
        "read_bytes",
        "Path",
        "glob",
        "copy",
        "copyfile",
        "copytree",
        "connect",
        "expanduser",
        "walk",
        "listdir",
        "iglob",
        "load",
        "readlines",
        "exists",
        "isfile",
    }
)
_PASSES = 4


class Flow:
    """Data flow of a file: aliases, constant texts and taints by name."""

    def __init__(self, nodes: list[ast.AST]) -> None:
        self.aliases: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.taints: dict[str, set[Taint]] = {}
        self.reads: list[tuple[ast.AST, SecretLevel]] = []
        self._parameters: dict[str, list[str]] = {}
        self._returns: list[tuple[str, ast.expr]] = []
        self._assigned: list[tuple[str, ast.expr]] = []
        self._calls = [node for node in nodes if isinstance(node, ast.Call)]
        for node in nodes:
            self._collect_bindings(node)
        for name, value in self._assigned:
            text = constant_text(value, self.texts)
            if text is not None:
                self.texts[name] = text
        self._find_reads()
        self._leaves: dict[int, list[ast.Name | ast.Attribute | ast.Call]] = {}
        for _ in range(_PASSES):
            taint_count = sum(map(len, self.taints.values()))
            self._propagate_taints()
            if sum(map(len, self.taints.values())) == taint_count:
                break

    def full_name(self, name: str) -> str:
        """Resolve the import aliases of a name."""
        first, _, rest = name.partition(".")
        full = self.aliases.get(first, first)
        return f"{full}.{rest}" if rest else full

    def is_fetched(self, node: ast.expr) -> bool:
        """Return whether a value was downloaded."""
        return "fetched" in self._taint(node)

    def is_decoded(self, node: ast.expr) -> bool:
        """Return whether a value was decoded."""
        return "decoded" in self._taint(node)

    def is_received(self, node: ast.expr) -> bool:
        """Return whether a value was received on a socket."""
        return "received" in self._taint(node)

    def is_sink(self, call: ast.Call) -> bool:
        """Return whether a call sends data to another machine."""
        name = self.full_name(dotted_name(call.func))
        base, _, last = name.rpartition(".")
        if last in ("post", "put", "patch", "request") and (
            base.lower().endswith(_CLIENTS)
            or "session" in base.lower()
            or "client" in base.lower()
            or base in ("requests", "httpx")
        ):
            return True
        if (
            last == "get"
            and base.lower().endswith(_CLIENTS)
            and (
                len(call.args) > 1
                or any(key.arg in ("params", "data", "json", "headers") for key in call.keywords)
                or (bool(call.args) and isinstance(call.args[0], ast.JoinedStr | ast.BinOp))
            )
        ):
            return True
        if last in ("urlopen", "Request"):
            return (
                len(call.args) > 1
                or any(key.arg == "data" for key in call.keywords)
                or (bool(call.args) and isinstance(call.args[0], ast.JoinedStr | ast.BinOp | ast.Name))
            )
        return last in (
            "sendall",
            "sendto",
            "sendmail",
            "send_message",
            "storbinary",
            "gethostbyname",
            "getaddrinfo",
        ) or (last == "send" and "sock" in base.lower())

    def find_sent_secret(self, call: ast.Call) -> Taint | None:
        """Return the kind of secret passed to a sending call, or None."""
        taint: set[Taint] = set()
        for part in [*call.args, *(key.value for key in call.keywords if key.arg != "headers")]:
            taint |= self._taint(part)
        for kind in ("secret", "environment", "fair"):
            if kind in taint:
                return kind
        return None

    def _collect_bindings(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for name in node.names:
                self.aliases[name.asname or name.name.split(".")[0]] = (
                    name.name if name.asname else name.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                self.aliases[name.asname or name.name] = f"{node.module}.{name.name}"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._parameters[node.name] = [child.arg for child in (*node.args.posonlyargs, *node.args.args)]
            self._returns += [
                (node.name, child.value) for child in ast.walk(node) if isinstance(child, ast.Return) and child.value
            ]
        else:
            self._collect_assignments(node)

    def _collect_assignments(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name in _targets(target):
                    self._assigned.append((name, node.value))
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
            self._assigned += [(name, node.value) for name in _targets(node.target)]
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            self._assigned += [(name, node.iter) for name in _targets(node.target)]
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._assigned += [(name, node.context_expr) for name in _targets(node.optional_vars)]
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "update", "extend", "add", "write", "writestr")
        ):
            self._assigned += [(name, child) for name in _targets(node.func.value) for child in node.args]

    def _find_reads(self) -> None:
        for call in self._calls:
            name = dotted_name(call.func)
            if name.rsplit(".", 1)[-1] not in _OPENERS and not name.endswith("path.join"):
                continue
            level = self._level(call)
            if level:
                self.reads.append((call, level))
        for _, value in self._assigned:
            if isinstance(value, ast.List | ast.Tuple | ast.Set | ast.BinOp):
                level = self._level(value)
                if level:
                    self.reads.append((value, level))

    def _level(self, node: ast.AST) -> SecretLevel | None:
        best: SecretLevel | None = None
        for child in ast.walk(node):
            if isinstance(child, ast.Constant | ast.BinOp | ast.Call | ast.Name | ast.JoinedStr):
                text = constant_text(child, self.texts)
                secret = (
                    find_secret(text.rstrip() + ('"' if len(text) < 200 else "")) if text and len(text) < 2000 else None
                )
                if secret and secret[0] == "strong":
                    return "strong"
                best = best or (secret[0] if secret else None)
        return best

    def _propagate_taints(self) -> None:
        for name, value in [*self._assigned, *self._returns]:
            taint = self._taint(value)
            if taint:
                self.taints.setdefault(name, set()).update(taint)
        for call in self._calls:
            for parameter, argument in zip(
                self._parameters.get(dotted_name(call.func).removeprefix("self."), []), call.args, strict=False
            ):
                taint = self._taint(argument)
                if taint:
                    self.taints.setdefault(parameter, set()).update(taint)

    def _taint(self, node: ast.AST) -> set[Taint]:
        taint: set[Taint] = set()
        for child in self._parts(node):
            if isinstance(child, ast.Name):
                taint |= self.taints.get(child.id, set())
            elif isinstance(child, ast.Attribute):
                taint |= self.taints.get(child.attr, set())
                if self.full_name(dotted_name(child)) in ("os.environ",):
                    taint |= self._environment(node, child)
            else:
                taint |= self._call_taint(child)
        return taint

    def _parts(self, node: ast.AST) -> list[ast.Name | ast.Attribute | ast.Call]:
        """Return the names and calls of an expression; cached, since every pass needs them."""
        leaves = self._leaves.get(id(node))
        if leaves is None:
            leaves = [child for child in ast.walk(node) if isinstance(child, ast.Name | ast.Attribute | ast.Call)]
            self._leaves[id(node)] = leaves
        return leaves

    def _environment(self, node: ast.AST, environ: ast.Attribute) -> set[Taint]:
        """Return the taint of `os.environ`, unless only one variable is read."""
        for child in ast.walk(node):
            if isinstance(child, ast.Subscript) and child.value is environ:
                return set()
            if (
                isinstance(child, ast.Attribute)
                and child.value is environ
                and child.attr in ("get", "setdefault", "pop")
            ):
                return set()
        return {"environment"}

    def _call_taint(self, call: ast.Call) -> set[Taint]:
        name = self.full_name(dotted_name(call.func))
        base, _, last = name.rpartition(".")
        if is_decoder(call):
            return {"decoded"}
        if last in _FETCHERS or (last == "get" and base.split(".")[-1] in ("requests", "httpx", "session")):
            return {"fetched"}
        if last == "recv":
            return {"received"}
        if last in _OPENERS and (level := self._level(call)):
            return {"secret" if level == "strong" else "fair"}
        return self.taints.get(last, set()) if last in self._parameters else set()


def _targets(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.Subscript):
        return _targets(node.value)
    if isinstance(node, ast.Tuple | ast.List):
        return [name for child in node.elts for name in _targets(child)]
    return []


MAX_NODES = 60_000
# Prefilter: a file without any of these words neither runs nor sends anything.
_PREFILTER = re.compile(
    r"\b(?:exec|eval|compile|system|popen|Popen|subprocess|pty|socket|requests|urllib\w*|httpx|aiohttp|smtplib|ftplib|marshal"
    r"|ctypes|importlib|__import__|getattr|codecs|execvp|execl|create_subprocess_\w+|http\.client|paramiko)\b|b64|b85|b32|unhexlify|fromhex"
)
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


def find_python_marks(text: Text, profile: Profile) -> Iterator[Mark]:
    """Find all marks of a Python file; one that cannot be parsed is scanned as shell text."""
    if not (_PREFILTER.search(text.body) or find_secret(text.body)):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from find_shell_marks(text.body, 0, len(text.body), profile)
        return
    yield from _PythonScan(text, list(islice(ast.walk(tree), MAX_NODES)), profile).marks()


class _PythonScan:
    """The scan of one Python file."""

    def __init__(self, text: Text, nodes: list[ast.AST], profile: Profile) -> None:
        self.text = text
        self.profile = profile
        self.nodes = nodes
        self.calls = [node for node in nodes if isinstance(node, ast.Call)]
        self.flow = Flow(nodes)
        self.documents = {
            id(node.value) for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }

    def node_span(self, node: ast.AST) -> tuple[int, int]:
        """Return the span of a node's lines; columns are not used, since `ast` counts bytes."""
        line: int = getattr(node, "lineno", 1)
        last: int = getattr(node, "end_lineno", line) or line
        start = self.text.starts[min(line, len(self.text.starts)) - 1]
        end = self.text.starts[last] - 1 if last < len(self.text.starts) else len(self.text.body)
        return start, max(start, end)

    def marks(self) -> Iterator[Mark]:
        """Yield the marks of the file."""
        for call in self.calls:
            yield from self._call(call)
        yield from self._reverse_shell()
        yield from self._constants()
        yield from self._sending_marks()

    def _call(self, call: ast.Call) -> Iterator[Mark]:
        name = self.flow.full_name(dotted_name(call.func))
        if name in _RUNS_CODE and call.args:
            yield from self._code(call, call.args[0])
        elif name in _RUNS_COMMANDS and call.args:
            yield from self._command(call, call.args[0])
        elif name.endswith((".__import__", "importlib.import_module")) and call.args and is_decoder(call.args[0]):
            yield mark("X001", *self.node_span(call), "high")
        elif name == "getattr" and len(call.args) > 1 and _is_assembled(call.args[1]):
            yield mark("H006", *self.node_span(call), "medium")

    def _code(self, call: ast.Call, argument: ast.expr) -> Iterator[Mark]:
        if isinstance(argument, ast.Call) and dotted_name(argument.func) == "compile" and argument.args:
            argument = argument.args[0]
        if self.flow.is_fetched(argument):
            yield mark("X007", *self.node_span(call), "critical")
        elif self.flow.is_decoded(argument):
            yield mark("X001", *self.node_span(call), "critical")
        elif _is_assembled(argument):
            yield mark("X001", *self.node_span(call), "high")

    def _command(self, call: ast.Call, argument: ast.expr) -> Iterator[Mark]:
        if self.flow.is_fetched(argument) and not isinstance(argument, ast.List):
            yield mark("X007", *self.node_span(call), "high")
        elif self.flow.is_decoded(argument):
            yield mark("X001", *self.node_span(call), "high")
        command = self._command_text(argument)
        if command:
            start, end = self.node_span(call)
            for shell_mark in find_shell_marks(command, 0, len(command), self.profile):
                yield mark(shell_mark.code, start, end, shell_mark.severity, shown=shell_mark.shown or command)

    def _command_text(self, argument: ast.expr) -> str:
        if isinstance(argument, ast.List | ast.Tuple):
            parts = [constant_text(item, self.flow.texts) or "{}" for item in argument.elts[:200]]
            return " ".join(
                f"'{part}'" if " " in part and part not in ("-c",) and index < 2 else part
                for index, part in enumerate(parts)
            )
        return constant_text(argument, self.flow.texts) or ""

    def _reverse_shell(self) -> Iterator[Mark]:
        names = {self.flow.full_name(dotted_name(call.func)).rsplit(".", 1)[-1]: call for call in self.calls}
        connects = "connect" in names or "create_connection" in names
        if connects and "dup2" in names and ("spawn" in names or {"call", "Popen", "run", "system"} & names.keys()):
            yield mark("X005", *self.node_span(names["dup2"]))
            return
        if connects and "recv" in names and {"send", "sendall"} & names.keys() and "socket" in names:
            runs = [call for call in self.calls if self.flow.full_name(dotted_name(call.func)) in _RUNS_COMMANDS]
            for call in runs:
                if call.args and self.flow.is_received(call.args[0]):
                    yield mark("X005", *self.node_span(call))
                    return

    def _constants(self) -> Iterator[Mark]:
        """Find text that is assembled or decoded."""
        for node in self.nodes:
            if not isinstance(node, ast.Call | ast.BinOp | ast.Subscript):
                continue
            if isinstance(node, ast.BinOp) and not (
                isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant)
            ):
                continue
            text = constant_text(node, self.flow.texts)
            if not text or len(text) < 8 or len(text) >= MAX_TEXT:
                continue
            hidden = (isinstance(node, ast.Call) and is_decoder(node)) or _is_assembled(node)
            if hidden and (URL.search(text) or find_secret(text) or "/bin/sh" in text or "curl " in text):
                severity = (
                    "high"
                    if any(is_untrusted_host(match[0]) for match in URL.finditer(text)) or not URL.search(text)
                    else "medium"
                )
                yield mark("H005", *self.node_span(node), severity, shown=f"amounts to: {text}")

    def _sending_marks(self) -> Iterator[Mark]:
        sinks = [call for call in self.calls if self.flow.is_sink(call)]
        if not sinks:
            yield from self._read_marks()
            return
        addresses = self._addresses()
        outside = [address for address in addresses if classify_host(address) not in ("known", "local")]
        bad = [address for address in addresses if is_untrusted_host(address)]
        for call in sinks:
            kind = self.flow.find_sent_secret(call)
            if kind == "environment" and (outside or not addresses):
                yield mark("D003", *self.node_span(call), "critical")
            elif (kind == "secret" and (outside or not addresses)) or (kind == "fair" and bad):
                yield mark("D001", *self.node_span(call), "critical")
            elif kind == "fair" and outside:
                yield mark("D001", *self.node_span(call), "high")
        for node, level in self.flow.reads:
            if level == "strong" and (outside or not addresses):
                yield mark(
                    "D002", *self.node_span(node), "high" if outside and (bad or len(addresses) < 4) else "medium"
                )

    def _read_marks(self) -> Iterator[Mark]:
        for node, level in self.flow.reads:
            if level == "strong":
                yield mark("D006", *self.node_span(node))

    def _addresses(self) -> list[str]:
        texts = [
            node.value
            for node in self.nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in self.documents
        ]
        literal_addresses = [match[0] for text in texts for match in URL.finditer(text[:MAX_TEXT])]
        return [*literal_addresses, *(match[0] for text in self.flow.texts.values() for match in URL.finditer(text))]


def _is_assembled(node: ast.AST) -> bool:
    """Return whether a text is assembled from characters or reversed, which hides it from a search."""
    if isinstance(node, ast.Call):
        last = dotted_name(node.func).rsplit(".", 1)[-1]
        if last == "join" and node.args:
            part = node.args[0]
            inner = part.elt if isinstance(part, ast.GeneratorExp | ast.ListComp) else part
            return isinstance(inner, ast.Call) and dotted_name(inner.func) in ("chr", "map")
        return last in ("decode",) and isinstance(node.func, ast.Attribute) and is_decoder(node.func.value)
    if isinstance(node, ast.Subscript):
        return (
            isinstance(node.slice, ast.Slice)
            and isinstance(node.slice.step, ast.UnaryOp)
            and isinstance(node.value, ast.Constant)
        )
    if isinstance(node, ast.BinOp):
        return isinstance(node.left, ast.Call) and dotted_name(node.left.func) == "chr"
    return False
