"""Rules a tool can check: docstrings, layers, broad catches, and what the files must not hold."""

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
"""The packages whose work `cli` and `service` reach through `engine` only."""
VALUES = {
    # Where a run is, what it keeps, and the modes of private files.
    "runs.DIRECTORY_MODE", "runs.FILE_MODE", "runs.ROLES", "runs.RunPaths",
    # What reading runs found.
    "ledger.RunRow",
    # Rules, how they are written, and the call they are asked about.
    "safety.END", "safety.PlannedCall", "safety.Rule", "safety.RuleScope", "safety.render_rule",
}  # fmt: skip
"""Plain data and constants that `cli` and `service` may name: nothing here does any work."""

PINNED = re.compile(r"[a-z0-9][a-z0-9.-]*==[^\s;]+( ; [^\\]+?)?(\s+--hash=sha256:[0-9a-f]{64})+")
OWN_MACHINE = re.compile(
    "|".join(
        [
            r"(?<![\w.~$}])/" + r"(?:home|Users)/(?!user\b|you\b|me\b|alice\b|bob\b|nobody\b)\w",
            r"(?<![\w.~$}])/" + r"root/\.?\w",
            r"(?<![\w.~$}])/" + r"work/(?:main|shared)\b",
            r"\b[A-Z]:\\" + r"Users\\",
        ]
    )
)


def test_every_public_name_has_a_docstring_that_begins_with_one_sentence() -> None:
    wrong = [
        f"{module.location(node)}: {problem}"
        for module in modules()
        if not re.match(r"_(?!_)", module.path.stem)
        for node in public_definitions(module.tree)
        if (problem := _problem_of_docstring(ast.get_docstring(node)))
    ]
    assert not wrong, "\n".join(wrong)


def _problem_of_docstring(text: str | None) -> str:
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
def test_docstrings_are_judged_by_their_first_line(text: str | None, problem: str) -> None:
    found = _problem_of_docstring(text)
    assert problem in found if problem else not found


def test_errors_are_swallowed_in_three_places_at_most() -> None:
    found = [module.location(node) for module in modules() for node in module.walk() if is_broad_catch(node)]
    assert len(found) <= MAX_BROAD_CATCHES, "\n".join(found)


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
def test_a_broad_catch_is_one_that_does_not_raise_again(code: str, broad: int, tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text(code)
    assert sum(map(is_broad_catch, parse(path).walk())) == broad


def test_the_layers_hold() -> None:
    check = [Path(sys.executable).parent / "lint-imports", "--no-cache", "--no-logo"]
    answer = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_commands_and_routes_work_on_runs_through_the_engine_only() -> None:
    used = [
        (name, module.location(node))
        for module in modules()
        if module.path.relative_to(SOURCES).parts[:2] in (("skills_runtime", "cli"), ("skills_runtime", "service"))
        for node, name in _names_behind_the_engine(module.tree)
    ]
    past = [f"{place}: {name}" for name, place in used if name not in VALUES]
    assert not past, "\n".join(past)
    unused = VALUES - {name for name, _ in used}
    assert not unused, "what nobody imports any more leaves the list"


def _names_behind_the_engine(tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """Every import of something behind the engine as `package.Name`, deferred ones too; not those for types only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            found = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            found = [f"{node.module}.{name.name}" for name in node.names]
        else:
            yield from _names_behind_the_engine(node)
            continue
        for package in BEHIND_THE_ENGINE:
            inside = [name for name in found if f"{name}.".startswith(f"skills_runtime.{package}.")]
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
def test_every_way_past_the_engine_is_seen(code: str, names: list[str]) -> None:
    assert [name for _, name in _names_behind_the_engine(ast.parse(code))] == names


def test_other_packages_are_imported_by_their_contract() -> None:
    """What another package may use is what its `__init__`, or that of one of its sub-packages, offers."""
    past = [
        f"{module.location(node)}: {name}"
        for module in modules()
        for node, name in _modules_imported_from_other_packages(module)
        if not (SOURCES / name.replace(".", "/") / "__init__.py").is_file()
    ]
    assert not past, "\n".join(past)


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
def test_a_name_that_is_imported_when_it_is_used_is_there_and_hides_no_module(path: Path) -> None:
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
    assert lazy & {child.stem for child in path.parent.iterdir()} == set(), "the module would be found instead"


@pytest.mark.parametrize("path", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda path: path.name)
def test_requirements_are_names_versions_and_hashes_only(path: Path) -> None:
    entries = path.read_text().replace("\\\n", " ").splitlines()
    assert entries
    assert not [entry for entry in entries if "://" in entry or not PINNED.fullmatch(entry.rstrip())]


def test_the_installed_packages_fit_each_other() -> None:
    answer = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_no_file_names_a_path_of_a_developer_machine() -> None:
    assert not [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in project_files()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        if OWN_MACHINE.search(line)
    ]


@pytest.mark.parametrize("name", ["home/jane/project", "Users/jane", "root/.config", "work/main"])
def test_a_path_of_a_developer_machine_is_recognized(name: str) -> None:
    assert OWN_MACHINE.search(f"open('/{name}/x')")
    assert not OWN_MACHINE.search(f"open('$HOME/{name}/x')")


def _payload_classes() -> Iterator[type[Payload]]:
    for value in vars(payloads).values():
        if isinstance(value, type) and issubclass(value, Payload) and value is not Payload:
            yield value


def test_event_types_are_snake_case_and_name_one_class_each() -> None:
    types = [payload.event_type for payload in _payload_classes()]
    assert not [name for name in types if not re.fullmatch(r"[a-z]+(_[a-z0-9]+)*", name)]
    assert sorted(types) == sorted(PAYLOAD_TYPES), "two classes share an event type"


def _family(error: type[SkillsRuntimeError]) -> Iterator[type[SkillsRuntimeError]]:
    yield error
    for child in error.__subclasses__():
        yield from _family(child)


def test_every_kind_of_error_has_an_exit_code() -> None:
    kinds = {error.kind for error in _family(SkillsRuntimeError)} | {*TOOL_KINDS, *MODEL_KINDS}
    assert kinds <= EXIT_CODES.keys()
