"""The fenced code of Markdown pages, and how it is run."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support import ROOT

TIMEOUT_SECONDS = 120

_OPENING = re.compile(r"(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`]*)")


class Fence(NamedTuple):
    """One block of code; `info` is what stands behind the opening backticks."""

    page: Path
    line: int
    info: str
    code: str

    @property
    def language(self) -> str:
        """The first word of `info`."""
        return self.info.partition(" ")[0]

    @property
    def place(self) -> str:
        """`path:line` of the opening backticks."""
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """The pages whose code must run."""
    found = [ROOT / "README.md", ROOT / "README.zh-CN.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in found if path.exists()]


def fences_of(page: Path) -> Iterator[Fence]:
    """The fenced blocks of a page, in order, without their indentation."""
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


def run_python(code: str, *, place: Path) -> subprocess.CompletedProcess[str]:
    """Run a program as a reader would: saved in a file, started in an empty workspace."""
    workspace, script = place / "workspace", place / "example.py"
    workspace.mkdir(parents=True)
    script.write_text(code, encoding="utf-8")
    return _run([sys.executable, str(script)], workspace)


def run_bash(code: str, *, place: Path) -> subprocess.CompletedProcess[str]:
    """Run commands one after another in an empty workspace; the first that fails ends them."""
    workspace = place / "workspace"
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
