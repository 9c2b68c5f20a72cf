"""The checkout as data: copies of it, handmade wheels, Markdown code blocks, and sources as syntax trees."""

import ast
import base64
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tokenize
import zipfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.support import ROOT, SOURCES

COPIED = ("scripts", "requirements", "pyproject.toml", "src/skills_runtime/__init__.py")
TOOLS = ("bash", "cat", "chmod", "cp", "dirname", "env", "flock", "grep", "mkdir", "rm", "sha256sum", "touch")

NODE = ("node", "nodejs", "npm", "npx")

# Stands in for an interpreter: it answers questions like a real one, but makes and fills environments only in name.
PYTHON = """\
#!{bash}
case "$1 $2" in
  *"import {lacks}") exit 1 ;;
  "-m venv")
    mkdir -p .venv/bin && cp "$0" .venv/bin/python
    printf '#!{bash}\\necho "pip 1 from %s/.venv/lib"\\n' "$PWD" >.venv/bin/pip
    chmod +x .venv/bin/pip ;;
  "-m pip")
    printf 'pip %s\\n' "${{*:3}}" >>"$CALLS"
    {pip} ;;
  *) exec "{python}" "$@" ;;
esac
"""


class Checkout:
    """The copy, the directory on `PATH` for fake commands, and a record of their calls."""

    def __init__(self, path: Path) -> None:
        self.root = path / "a checkout"
        self._commands = path / "bin"
        self._record = path / "calls"
        self._commands.mkdir(parents=True)
        for name in COPIED:
            _copy(ROOT / name, self.root / name)
        for name in TOOLS:
            (self._commands / name).symlink_to(_find(name))
        self.add_python()

    def say_of_files(self, *, are_there: bool) -> None:
        """Decide for every package that is recognized by a file whether it is installed, whatever this machine has."""
        table = self.root / "scripts/system-packages"
        table.write_text(re.sub(r"  /\S+", "  /" if are_there else "  /nowhere", table.read_text()))

    def add_command(self, name: str, script: str) -> None:
        """Add a command that records each call and then runs the script."""
        command = self._commands / name
        command.write_text(f'#!{_find("bash")}\nprintf \'{name} %s\\n\' "$*" >>"$CALLS"\n{script}\n')
        command.chmod(0o755)

    def add_user(self, uid: int) -> None:
        """Set the user that runs the script."""
        (self._commands / "id").write_text(f"#!{_find('bash')}\necho {uid}\n")
        (self._commands / "id").chmod(0o755)

    def add_python(self, name: str = "python3", *, pip: str = "exit 0", lacks: str = "nothing") -> Path:
        """Add an interpreter; `pip` is the behavior of its pip, `lacks` a missing module."""
        command = self._commands / name
        command.write_text(PYTHON.format(bash=_find("bash"), python=sys.executable, pip=pip, lacks=lacks))
        command.chmod(0o755)
        return command

    def setup(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the script; its output, standard error included, is in `stdout`."""
        return subprocess.run(
            [self.root / "scripts/setup", *arguments],
            env={"PATH": str(self._commands), "CALLS": str(self._record), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            start_new_session=True,
        )

    def calls(self) -> list[str]:
        """Return the calls since the last time."""
        calls = self._record.read_text().splitlines() if self._record.exists() else []
        self._record.unlink(missing_ok=True)
        return calls


def link_commands(directory: Path) -> None:
    """Fill a directory with links to all commands of this machine but Node's."""
    for source in map(Path, ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")):
        for command in source.iterdir() if source.is_dir() else ():
            link = directory / command.name
            if command.name not in NODE and not link.is_symlink():
                link.symlink_to(command)


def _find(name: str) -> str:
    text = shutil.which(name)
    assert text, f"these tests need the command `{name}`"
    return text


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy2(source, target)


def make_wheel(directory: Path, name: str, version: str, module: str, *, requires: Sequence[str] = ()) -> Path:
    """Build a wheel with one module of the same name."""
    directory.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    files = {
        f"{name}.py": module,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},sha256={_digest(text)},{len(text.encode())}\n" for path, text in files.items())
    wheel = directory / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(path, text)
    return wheel


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


TIMEOUT_SECONDS = 120

_OPENING = re.compile(r"(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`]*)")


class Fence(NamedTuple):
    """One code block; `info` is the text after the opening backticks."""

    page: Path
    line: int
    info: str
    code: str

    @property
    def language(self) -> str:
        """The first word of `info`."""
        return self.info.partition(" ")[0]

    @property
    def location(self) -> str:
        """`path:line` of the opening backticks."""
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """Return the pages whose code must run."""
    paths = [ROOT / "README.md", ROOT / "README.zh-CN.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in paths if path.exists()]


def fences_of(page: Path) -> Iterator[Fence]:
    """Return the code blocks of a page, in order, without their indentation."""
    lines = enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
    for number, line in lines:
        if opening := _OPENING.fullmatch(line):
            indent, closing = len(opening["indent"]), opening["ticks"]
            body: list[str] = []
            for _, inner in lines:
                if inner.strip() == closing:
                    break
                body.append(inner[indent:] if not inner[:indent].strip() else inner)
            yield Fence(page, number, " ".join(opening["info"].split()), "\n".join(body) + "\n")


def run_python(code: str, *, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run a program as a reader would: saved in a file, started in an empty workspace."""
    workspace, script = directory / "workspace", directory / "example.py"
    workspace.mkdir(parents=True)
    script.write_text(code, encoding="utf-8")
    return _run([sys.executable, str(script)], workspace)


def run_bash(code: str, *, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run commands in an empty workspace until one fails."""
    workspace = directory / "workspace"
    workspace.mkdir(parents=True)
    return _run(["bash", "-euo", "pipefail", "-c", code], workspace)


def _run(command: list[str], workspace: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        command,
        cwd=workspace,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )


Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

SAID_ELSEWHERE = {"overload", "override", "setter", "deleter"}
"""Decorators of functions that share the docstring of another definition."""


class Module(NamedTuple):
    """One source file."""

    path: Path
    text: str
    tree: ast.Module

    def location(self, node: ast.AST) -> str:
        """`path:line`, as an editor opens it."""
        return f"{self.path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"

    def walk(self) -> Iterator[ast.AST]:
        """Return every node of the file."""
        return ast.walk(self.tree)


def parse(path: Path) -> Module:
    """Parse one source file."""
    text = path.read_text(encoding="utf-8")
    return Module(path, text, ast.parse(text))


@cache
def modules() -> tuple[Module, ...]:
    """Return every module of the packages."""
    return tuple(parse(path) for path in sorted(SOURCES.rglob("*.py")))


def public_definitions(tree: ast.Module) -> Iterator[Documented]:
    """Yield the module itself, its public classes with their public methods, and its public functions."""
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
    """Return `c` of `a.b.c` and of `a.b.c(...)`."""
    match expression:
        case ast.Call(func=function):
            return _last_name(function)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def is_broad_catch(node: ast.AST) -> bool:
    """Return whether this handler swallows every error; clean-up that re-raises does not count."""
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
    """Return every file that git tracks or would add; without git, every file outside hidden directories."""
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
    """Return the numbers of the lines of code: no blank lines, comments or docstrings."""
    words = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {line for token in tokens if token.type not in words for line in range(token.start[0], token.end[0] + 1)}
    prose = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return code - prose
