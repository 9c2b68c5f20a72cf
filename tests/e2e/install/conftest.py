"""What can be installed, built once: a copy of the checkout without Studio, and the wheel with it."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.checkouts import link_commands

BUILD_SECONDS = 600
COPIED = ("pyproject.toml", "README.md", "LICENSE", "Makefile", "scripts", "requirements", "skills", "src", "studio")
LEFT_OUT = shutil.ignore_patterns("studio_dist", "node_modules", "__pycache__")
HATCHLING = (sys.executable, "-m", "hatchling", "build")


@dataclass(frozen=True)
class Clone:
    """A copy of the checkout, and the user who installs it on a machine without Node."""

    root: Path
    home: Path
    path: str

    @property
    def bin(self) -> Path:
        """Where the commands of the user are."""
        return self.home / ".local" / "bin"

    @property
    def data(self) -> Path:
        """Where the environments are."""
        return self.home / ".local" / "share" / "skills-runtime"

    def environment(self, **more: str) -> dict[str, str]:
        """The variables of the user; those of pip and of certificates are the machine's."""
        kept = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "SSL_", "LANG"))}
        return {**kept, "PATH": self.path, "HOME": str(self.home), "PYTHON": sys.executable, **more}

    def install(self, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run `scripts/install`; its messages are in `stderr`."""
        return run([self.root / "scripts" / "install", *options], self.environment(**more), self.home)

    def call(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run an installed command."""
        return run([self.bin / command[0], *command[1:]], self.environment(), self.home)


def run(command: list[str | Path], environment: Mapping[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(
        command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip


@pytest.fixture(scope="session")
def path_without_node(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory of all commands of this machine but Node's, as a `PATH`."""
    directory = tmp_path_factory.mktemp("commands")
    link_commands(directory)
    return str(directory)


@pytest.fixture(scope="session")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout in which nothing was built."""
    root = tmp_path_factory.mktemp("copy") / "a clone"
    root.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=LEFT_OUT)
        else:
            shutil.copy2(source, root)
    return root


@pytest.fixture(scope="session")
def clone(copy: Path, path_without_node: str) -> Clone:
    """The copy, installed as its README says."""
    home = copy.parent / "a home"
    home.mkdir()
    clone = Clone(copy, home, path_without_node)
    installed = clone.install()
    assert installed.returncode == 0, installed.stderr
    (home / "installed.txt").write_text(installed.stderr)
    return clone


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build Studio and the wheel of this checkout; the page is not rebuilt meanwhile."""
    subprocess.run([ROOT / "scripts" / "studio"], check=True, timeout=BUILD_SECONDS, cwd=ROOT, capture_output=True)
    directory = tmp_path_factory.mktemp("wheel")
    with (ROOT / "scripts" / "studio").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [*HATCHLING, "--target", "wheel", "--directory", str(directory)]
        # The hook would build what is built, and wait for this lock.
        environment = {**os.environ, "HATCH_BUILD_NO_HOOKS": "true"}
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=120)
    (path,) = directory.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def scripts(wheel: Path, clone: Clone, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel; the pinned packages are those that the clone installed."""
    venv = tmp_path_factory.mktemp("clean") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True, timeout=120)
    python = venv / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=120)
    (site,), (packages,) = (directory.glob("lib/python*/site-packages") for directory in (venv, clone.data / "current"))
    # A line of a .pth file comes after the environment's own packages.
    (site / "packages.pth").write_text(f"{packages}\n")
    return venv / "bin"
