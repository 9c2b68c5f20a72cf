"""Run a Python script in a running interpreter as if it had been started for it."""

import ast
import atexit
import gc
import os
import sys
import types
from contextlib import suppress
from typing import Any

SKIPPED_MODULES = frozenset(
    ("antigravity", "curses", "idlelib", "lib2to3", "pip", "readline", "site", "test", "this", "tkinter", "turtle")
)
BROKEN_STREAM = 120

_code: "dict[str, types.CodeType]" = {}


def prepare(cwd: str, script: str) -> None:
    """Compile the script and import the standard modules it names; one sandbox always runs the same skill."""
    path = os.path.join(cwd, script)
    with open(path, "rb") as file:
        source = file.read()
    try:
        tree = ast.parse(source, path)
        _code[path] = compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # the child reports the error as Python would
    own = _own_modules(cwd) | SKIPPED_MODULES
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            imported.add(node.module)
    for name in sorted(imported):
        root = name.partition(".")[0]
        if root in sys.stdlib_module_names and root not in own:
            # The child gets the same error and reports it.
            with suppress(ImportError, OSError):
                __import__(name)
    gc.freeze()


def _own_modules(directory: str) -> "set[str]":
    return {name.partition(".")[0] for name in os.listdir(directory)}  # noqa: PTH208


def run(directory: str, script: str) -> int:
    """Run a script as the interpreter would and return its exit code."""
    path = os.path.join(directory, script)
    # Modules that every interpreter imports before it runs a script.
    at_start = getattr(sys.modules.get(__package__ or ""), "AT_START", frozenset[str]())
    for name in _own_modules(directory) & (sys.modules.keys() - at_start):
        del sys.modules[name]  # so that the skill's own module of that name wins
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=__builtins__, __cached__=None, __annotations__={})
    sys.modules["__main__"] = module
    sys.argv = [script]
    sys.path.insert(0, directory)
    code = 1
    try:
        code = _execute(path, module.__dict__)
    finally:
        _report_error(sys.exc_info()[1])
        code = _shut_down(code)
    return code


def _execute(path: str, names: "dict[str, Any]") -> int:
    try:
        code = _code.get(path)
        if code is None:
            with open(path, "rb") as file:
                code = compile(file.read(), path, "exec", dont_inherit=True)
        exec(code, names)
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        sys.stderr.write(f"{error.code}\n")
        return 1
    return 0


def _report_error(error: "BaseException | None") -> None:
    """Report an error as the interpreter does, without the two frames of this module."""
    if error is not None:
        trace = error.__traceback__
        for _ in range(2):
            trace = trace and trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)


def _shut_down(code: int) -> int:
    """Shut down as the interpreter does: join threads, run exit functions, flush the streams."""
    threading, leaving = sys.modules.get("threading"), atexit
    for hook in ((threading, "_shutdown"), (leaving, "_run_exitfuncs")):
        if hook[0] is not None:
            getattr(*hook)()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            code = code or BROKEN_STREAM
    return code
