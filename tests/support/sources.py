"""The source files as syntax trees, for tests that read code instead of running it."""

import ast
import io
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.support import ROOT, SOURCES

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

SAID_ELSEWHERE = {"overload", "override", "setter", "deleter"}
"""Decorators of functions whose docstring stands at another definition of the same name."""


class Module(NamedTuple):
    """One source file."""

    path: Path
    text: str
    tree: ast.Module

    def place(self, node: ast.AST) -> str:
        """`path:line`, as an editor opens it."""
        return f"{self.path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"

    def walk(self) -> Iterator[ast.AST]:
        """Every node of the file."""
        return ast.walk(self.tree)


def parse(path: Path) -> Module:
    """Read one source file."""
    text = path.read_text(encoding="utf-8")
    return Module(path, text, ast.parse(text))


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the packages."""
    return tuple(parse(path) for path in sorted(SOURCES.rglob("*.py")))


def public_definitions(tree: ast.Module) -> Iterator[Documented]:
    """The module itself, its public classes with their public methods, and its public functions."""
    yield tree
    yield from _public_members(tree.body)


def _public_members(body: list[ast.stmt]) -> Iterator[Documented]:
    for node in body:
        if isinstance(node, ast.If | ast.Try):
            yield from _public_members(node.body)
        if not isinstance(node, ast.ClassDef | Function) or node.name.startswith("_"):
            continue
        if isinstance(node, ast.ClassDef):
            yield from _public_members(node.body)
        if not SAID_ELSEWHERE & {_last_name(decorator) for decorator in node.decorator_list}:
            yield node


def _last_name(expression: ast.expr) -> str:
    """`c` of `a.b.c` and of `a.b.c(...)`."""
    match expression:
        case ast.Call(func=function):
            return _last_name(function)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def is_broad_catch(node: ast.AST) -> bool:
    """Whether this swallows every error; clean-up that ends by raising the error again does not."""
    match node:
        case ast.ExceptHandler(type=caught, body=[*_, last]):
            raises_again = isinstance(last, ast.Raise) and last.exc is None
            return not raises_again and (caught is None or _names_every_error(caught))
        case ast.Call(args=arguments):
            return _last_name(node) == "suppress" and any(map(_names_every_error, arguments))
        case _:
            return False


def _names_every_error(expression: ast.expr) -> bool:
    if isinstance(expression, ast.Tuple):
        return any(map(_names_every_error, expression.elts))
    return _last_name(expression) in ("Exception", "BaseException")


def project_files() -> list[Path]:
    """Every file git has or would add, or, where there is no git, every file outside hidden directories."""
    listing = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    answer = subprocess.run(listing, capture_output=True, text=True, check=False)
    if answer.returncode == 0:
        paths = [ROOT / name for name in answer.stdout.split("\0") if name]
    else:
        paths = [path for path in ROOT.rglob("*") if not _is_generated(path.relative_to(ROOT))]
    return sorted(path for path in paths if path.is_file() and not path.is_symlink())


def _is_generated(path: Path) -> bool:
    return any(part == "__pycache__" or part.startswith(".") for part in path.parts)


def lines_of_code(text: str) -> set[int]:
    """The numbers of the lines that hold code: no blank ones, no comments, no docstrings."""
    words = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {line for one in tokens if one.type not in words for line in range(one.start[0], one.end[0] + 1)}
    prose = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return code - prose
