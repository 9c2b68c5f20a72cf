"""Runs a Python script in a process that is already there, as if the interpreter had been started for it."""

import ast
import atexit
import gc
import os
import sys
import types
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

NOT_TO_BE_IMPORTED = frozenset(
    ("antigravity", "curses", "idlelib", "lib2to3", "pip", "readline", "site", "test", "this", "tkinter", "turtle")
)
BROKEN_STREAM = 120

_code: "dict[str, types.CodeType]" = {}


def prepare(cwd: str, script: str) -> None:
    """Compile the script and import what of Python's own it names: behind one fence it is always the same skill."""
    path = os.path.join(cwd, script)
    with open(path, "rb") as file:
        source = file.read()
    try:
        tree = ast.parse(source, path)
        _code[path] = compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # the child tells it as Python would
    own = _own_modules(cwd) | NOT_TO_BE_IMPORTED
    for name in sorted(set(_imported(tree))):
        root = name.partition(".")[0]
        if root in sys.stdlib_module_names and root not in own:
            with suppress(ImportError, OSError):  # the child meets it again, where it belongs
                __import__(name)
    gc.freeze()


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module


def _own_modules(directory: str) -> "set[str]":
    return {name.partition(".")[0] for name in os.listdir(directory)}  # noqa: PTH208


def _at_start() -> "frozenset[str]":
    """What every interpreter has imported before it runs a script."""
    return getattr(sys.modules.get(__package__ or ""), "AT_START", frozenset[str]())


def run(directory: str, script: str) -> int:
    """Run a script as the interpreter itself would do it; returns the exit code."""
    path = os.path.join(directory, script)
    for name in _own_modules(directory) & (sys.modules.keys() - _at_start()):
        del sys.modules[name]  # the skill's own module of that name comes first
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=__builtins__, __cached__=None, __annotations__={})
    sys.modules["__main__"] = module
    sys.argv = [script]
    sys.path.insert(0, directory)
    code = 1
    try:
        code = _status(path, module.__dict__)
    finally:
        _tell(sys.exc_info()[1])
        code = _left(code)
    return code


def _status(path: str, names: "dict[str, Any]") -> int:
    try:
        code = _code.get(path)
        if code is None:
            with open(path, "rb") as file:
                code = compile(file.read(), path, "exec", dont_inherit=True)
        exec(code, names)
    except SystemExit as error:
        return _exit_code(error.code)
    return 0


def _tell(error: "BaseException | None") -> None:
    """Tell of an error as the interpreter does: without the two functions here that it came through."""
    if error is not None:
        trace = error.__traceback__
        for _ in range(2):
            trace = trace and trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)


def _left(code: int) -> int:
    """Leave as the interpreter does: threads and what was to be done at the end come before the last words."""
    threading, leaving = sys.modules.get("threading"), atexit
    for end in ((threading, "_shutdown"), (leaving, "_run_exitfuncs")):
        if end[0] is not None:
            getattr(*end)()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            code = code or BROKEN_STREAM
    return code


def _exit_code(code: object) -> int:
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1
