"""Follows values through Python code by name: what was fetched, decoded, or read from where secrets are."""

import ast
from typing import Literal

from skills_runtime.skills.security.python_values import dotted, is_decoder, text_of
from skills_runtime.skills.security.secrets_read import Level, secrets_in

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
    """What is known of the names in a file."""

    def __init__(self, nodes: list[ast.AST]) -> None:
        self.aliases: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.taints: dict[str, set[Taint]] = {}
        self.reads: list[tuple[ast.AST, Level]] = []
        self._parameters: dict[str, list[str]] = {}
        self._returns: list[tuple[str, ast.expr]] = []
        self._assigned: list[tuple[str, ast.expr]] = []
        self._calls = [node for node in nodes if isinstance(node, ast.Call)]
        for node in nodes:
            self._learn(node)
        for name, value in self._assigned:
            said = text_of(value, self.texts)
            if said is not None:
                self.texts[name] = said
        self._find_reads()
        self._leaves: dict[int, list[ast.Name | ast.Attribute | ast.Call]] = {}
        for _ in range(_PASSES):
            before = sum(map(len, self.taints.values()))
            self._spread()
            if sum(map(len, self.taints.values())) == before:
                break

    def full_name(self, name: str) -> str:
        """A name as it would read without the file's own abbreviations."""
        first, _, rest = name.partition(".")
        full = self.aliases.get(first, first)
        return f"{full}.{rest}" if rest else full

    def is_fetched(self, node: ast.expr) -> bool:
        """Whether a value came over the network."""
        return "fetched" in self._taint(node)

    def is_decoded(self, node: ast.expr) -> bool:
        """Whether a value was decoded from something unreadable."""
        return "decoded" in self._taint(node)

    def is_received(self, node: ast.expr) -> bool:
        """Whether a value was received on a socket."""
        return "received" in self._taint(node)

    def is_sink(self, call: ast.Call) -> bool:
        """Whether a call sends data to another machine."""
        name = self.full_name(dotted(call.func))
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

    def secret_sent(self, call: ast.Call) -> Taint | None:
        """What sort of secret a call that sends something is given."""
        taint: set[Taint] = set()
        for part in [*call.args, *(key.value for key in call.keywords if key.arg != "headers")]:
            taint |= self._taint(part)
        for kind in ("secret", "environment", "fair"):
            if kind in taint:
                return kind
        return None

    def _learn(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for name in node.names:
                self.aliases[name.asname or name.name.split(".")[0]] = (
                    name.name if name.asname else name.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                self.aliases[name.asname or name.name] = f"{node.module}.{name.name}"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._parameters[node.name] = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
            self._returns += [
                (node.name, each.value) for each in ast.walk(node) if isinstance(each, ast.Return) and each.value
            ]
        else:
            self._assignments(node)

    def _assignments(self, node: ast.AST) -> None:
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
            self._assigned += [(name, each) for name in _targets(node.func.value) for each in node.args]

    def _find_reads(self) -> None:
        for call in self._calls:
            name = dotted(call.func)
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

    def _level(self, node: ast.AST) -> Level | None:
        best: Level | None = None
        for each in ast.walk(node):
            if isinstance(each, ast.Constant | ast.BinOp | ast.Call | ast.Name | ast.JoinedStr):
                said = text_of(each, self.texts)
                found = (
                    secrets_in(said.rstrip() + ('"' if len(said) < 200 else "")) if said and len(said) < 2000 else None
                )
                if found and found[0] == "strong":
                    return "strong"
                best = best or (found[0] if found else None)
        return best

    def _spread(self) -> None:
        for name, value in [*self._assigned, *self._returns]:
            taint = self._taint(value)
            if taint:
                self.taints.setdefault(name, set()).update(taint)
        for call in self._calls:
            for parameter, argument in zip(
                self._parameters.get(dotted(call.func).removeprefix("self."), []), call.args, strict=False
            ):
                taint = self._taint(argument)
                if taint:
                    self.taints.setdefault(parameter, set()).update(taint)

    def _taint(self, node: ast.AST) -> set[Taint]:
        taint: set[Taint] = set()
        for each in self._parts(node):
            if isinstance(each, ast.Name):
                taint |= self.taints.get(each.id, set())
            elif isinstance(each, ast.Attribute):
                taint |= self.taints.get(each.attr, set())
                if self.full_name(dotted(each)) in ("os.environ",):
                    taint |= self._environment(node, each)
            else:
                taint |= self._called(each)
        return taint

    def _parts(self, node: ast.AST) -> list[ast.Name | ast.Attribute | ast.Call]:
        """The names and calls in an expression, which is asked for again in every pass."""
        known = self._leaves.get(id(node))
        if known is None:
            known = [each for each in ast.walk(node) if isinstance(each, ast.Name | ast.Attribute | ast.Call)]
            self._leaves[id(node)] = known
        return known

    def _environment(self, node: ast.AST, environ: ast.Attribute) -> set[Taint]:
        """The whole environment, and not one variable of it."""
        for each in ast.walk(node):
            if isinstance(each, ast.Subscript) and each.value is environ:
                return set()
            if isinstance(each, ast.Attribute) and each.value is environ and each.attr in ("get", "setdefault", "pop"):
                return set()
        return {"environment"}

    def _called(self, call: ast.Call) -> set[Taint]:
        name = self.full_name(dotted(call.func))
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
        return [name for each in node.elts for name in _targets(each)]
    return []
