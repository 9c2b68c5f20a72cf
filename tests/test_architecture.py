"""Conventions that tests can check: docstrings, layers, broad exception handlers, forbidden file contents."""

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from skills_runtime.errors import EXIT_CODES, MODEL_KINDS, TOOL_KINDS, SkillsRuntimeError
from skills_runtime.events import PAYLOAD_TYPES, Payload, payloads
from tests.support import ROOT, SOURCES
from tests.support.checkouts import (
    Module,
    is_broad_catch,
    modules,
    parse,
    project_files,
    public_definitions,
)

MAX_BROAD_CATCHES = 3
BEHIND_THE_ENGINE = ("runs", "ledger", "agent.loop", "safety")
"""Packages that `cli` and `service` use only through `engine`."""
VALUES = {
    # Paths of a run, roles of its files, and modes of private files.
    "runs.DIRECTORY_MODE", "runs.FILE_MODE", "runs.ROLES", "runs.RunPaths",
    # A row of the run index.
    "ledger.RunRow",
    # Rules, their text form, and the call they apply to.
    "safety.END", "safety.PlannedCall", "safety.Rule", "safety.RuleScope", "safety.render_rule",
}  # fmt: skip
"""Plain data and constants that `cli` and `service` may import directly."""

PINNED = re.compile(r"[a-z0-9][a-z0-9.-]*==[^\s;]+( ; [^\\]+?)?(\s+--hash=sha256:[0-9a-f]{64})+")
MACHINE_PATH = re.compile(
    "|".join(
        [
            r"(?<![\w.~$}])/" + r"(?:home|Users)/(?!user\b|you\b|me\b|alice\b|bob\b|nobody\b)\w",
            r"(?<![\w.~$}])/" + r"root/\.?\w",
            r"(?<![\w.~$}])/" + r"work/(?:main|shared)\b",
            r"\b[A-Z]:\\" + r"Users\\",
        ]
    )
)


def test_public_docstrings_start_with_one_sentence() -> None:
    problems = [
        f"{module.location(node)}: {problem}"
        for module in modules()
        if not re.match(r"_(?!_)", module.path.stem)
        for node in public_definitions(module.tree)
        if (problem := _find_docstring_problem(ast.get_docstring(node)))
    ]
    assert not problems, "\n".join(problems)


def _find_docstring_problem(text: str | None) -> str:
    if not text:
        return "has no docstring"
    first = text.splitlines()[0]
    if not first.endswith((".", "?", "!")):
        return f"the first line is not a whole sentence: {first!r}"
    if re.search(r"[.!?] +[A-Z]", re.sub(r"`[^`]*`", "x", first)):
        return f"the first line is more than one sentence: {first!r}"
    return ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Reads one line.", ""),
        ("Reads `a. B` whole.", ""),
        (None, "no docstring"),
        ("Reads one line", "not a whole sentence"),
        ("Reads one line. Then stops.", "more than one sentence"),
    ],
)
def test_docstring_check_uses_the_first_line(text: str | None, problem: str) -> None:
    result = _find_docstring_problem(text)
    assert problem in result if problem else not result


def test_at_most_three_broad_exception_handlers_swallow_errors() -> None:
    locations = [module.location(node) for module in modules() for node in module.walk() if is_broad_catch(node)]
    assert len(locations) <= MAX_BROAD_CATCHES, "\n".join(locations)


@pytest.mark.parametrize(
    ("code", "broad"),
    [
        ("try: x\nexcept Exception: pass", 1),
        ("try: x\nexcept (ValueError, BaseException) as e: pass", 1),
        ("try: x\nexcept: pass", 1),
        ("with contextlib.suppress(Exception): x", 1),
        ("try: x\nexcept BaseException:\n clean()\n raise", 0),
        ("try: x\nexcept OSError: pass", 0),
        ("with suppress(OSError): x", 0),
    ],
)
def test_broad_catch_is_one_that_does_not_reraise(code: str, broad: int, tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text(code)
    assert sum(map(is_broad_catch, parse(path).walk())) == broad


def test_import_contracts_hold() -> None:
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache", "--no-logo"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_commands_and_routes_use_runs_only_through_the_engine() -> None:
    used = [
        (name, module.location(node))
        for module in modules()
        if module.path.relative_to(SOURCES).parts[:2] in (("skills_runtime", "cli"), ("skills_runtime", "service"))
        for node, name in _names_behind_the_engine(module.tree)
    ]
    violations = [f"{location}: {name}" for name, location in used if name not in VALUES]
    assert not violations, "\n".join(violations)
    unused = VALUES - {name for name, _ in used}
    assert not unused, "remove names from VALUES that are no longer imported"


def _names_behind_the_engine(tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """Yield each import from a package behind the engine as `package.Name`, except under TYPE_CHECKING."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name.name}" for name in node.names]
        else:
            yield from _names_behind_the_engine(node)
            continue
        for package in BEHIND_THE_ENGINE:
            inside = [name for name in names if f"{name}.".startswith(f"skills_runtime.{package}.")]
            yield from ((node, f"{package}.{name.rpartition('.')[2]}") for name in inside)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("from skills_runtime.runs import RunPaths, read_view", ["runs.RunPaths", "runs.read_view"]),
        ("def f():\n from skills_runtime.agent.loop.turn import Turn", ["agent.loop.Turn"]),
        ("import skills_runtime.ledger", ["ledger.ledger"]),
        ("from skills_runtime import safety", ["safety.safety"]),
        ("from skills_runtime.agent import loop", ["agent.loop.loop"]),
        ("if TYPE_CHECKING:\n from skills_runtime.runs import Run", []),
        ("from skills_runtime.engine import RunService", []),
        ("from skills_runtime.runs_view import show", []),
    ],
)
def test_every_kind_of_import_behind_the_engine_is_detected(code: str, names: list[str]) -> None:
    assert [name for _, name in _names_behind_the_engine(ast.parse(code))] == names


def test_other_packages_are_imported_through_their_init() -> None:
    """Import another package only through its `__init__`, or that of a sub-package."""
    violations = [
        f"{module.location(node)}: {name}"
        for module in modules()
        for node, name in _modules_imported_from_other_packages(module)
        if not (SOURCES / name.replace(".", "/") / "__init__.py").is_file()
    ]
    assert not violations, "\n".join(violations)


def _modules_imported_from_other_packages(module: Module) -> Iterator[tuple[ast.stmt, str]]:
    own = module.path.relative_to(SOURCES).parts[:2]
    for node in module.walk():
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            top, *inner = node.module.split(".")
            if top == "skills_runtime" and len(inner) > 1 and (top, inner[0]) != own:
                yield node, node.module


LAZY = [
    path
    for path in (SOURCES / "skills_runtime").rglob("__init__.py")
    if "import lazy_names" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", LAZY, ids=lambda path: ".".join(path.parent.relative_to(SOURCES).parts))
def test_lazy_names_exist_and_do_not_shadow_a_module(path: Path) -> None:
    package = importlib.import_module(".".join(path.parent.relative_to(SOURCES).parts))
    assert [name for name in package.__all__ if not hasattr(package, name)] == []
    lazy = {
        word
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy_names"
        for names in ast.literal_eval(node.args[1]).values()
        for word in names.split()
    }
    assert lazy
    assert lazy & {child.stem for child in path.parent.iterdir()} == set(), "the module would be imported instead"


@pytest.mark.parametrize("path", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda path: path.name)
def test_requirements_have_only_names_versions_and_hashes(path: Path) -> None:
    entries = path.read_text().replace("\\\n", " ").splitlines()
    assert entries
    assert not [entry for entry in entries if "://" in entry or not PINNED.fullmatch(entry.rstrip())]


def test_installed_packages_are_compatible() -> None:
    result = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_file_names_a_path_of_a_developer_machine() -> None:
    assert not [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in project_files()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        if MACHINE_PATH.search(line)
    ]


@pytest.mark.parametrize("name", ["home/jane/project", "Users/jane", "root/.config", "work/main"])
def test_a_path_of_a_developer_machine_is_recognized(name: str) -> None:
    assert MACHINE_PATH.search(f"open('/{name}/x')")
    assert not MACHINE_PATH.search(f"open('$HOME/{name}/x')")


def _payload_classes() -> Iterator[type[Payload]]:
    for value in vars(payloads).values():
        if isinstance(value, type) and issubclass(value, Payload) and value is not Payload:
            yield value


def test_event_types_are_snake_case_and_unique() -> None:
    types = [payload.event_type for payload in _payload_classes()]
    assert not [name for name in types if not re.fullmatch(r"[a-z]+(_[a-z0-9]+)*", name)]
    assert sorted(types) == sorted(PAYLOAD_TYPES), "two classes share an event type"


def _with_subclasses(error: type[SkillsRuntimeError]) -> Iterator[type[SkillsRuntimeError]]:
    yield error
    for child in error.__subclasses__():
        yield from _with_subclasses(child)


def test_every_error_kind_has_an_exit_code() -> None:
    kinds = {error.kind for error in _with_subclasses(SkillsRuntimeError)} | {*TOOL_KINDS, *MODEL_KINDS}
    assert kinds <= EXIT_CODES.keys()
