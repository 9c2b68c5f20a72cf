"""What a stranger has: an empty home, a machine without Node, the repository at an address, and a model."""

import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.e2e.first_hour.shells import open_shell
from tests.e2e.first_hour.walks import steps_of
from tests.support import ROOT, documented_model
from tests.support.checkouts import link_commands, project_files
from tests.support.model_server import ModelServer

BUILT = "src/skills_runtime/studio_dist"
BUILD_SECONDS = 600
CHROMIUM = ROOT / "tests/e2e/studio/chromium"
SPARE = "environment of the tutorial"
KEPT = {".local", "skills-runtime", ".cache", SPARE}
"""What stays in the home between two pages."""


@dataclass(frozen=True)
class Stranger:
    """A user with a home; `url` is where the repository is."""

    home: Path
    commands: Path
    url: str

    def environment(self, language: str) -> dict[str, str]:
        """The variables of a new terminal. Any free port is as good as 8000, which something else may use."""
        kept = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
        path = f"{self.home}/.local/bin:{self.commands}"
        more = {"LANG": language, "NO_PROXY": "127.0.0.1", "PORT": "0", "LITELLM_API_KEY": documented_model.KEY}
        return {**kept, "PATH": path, "HOME": str(self.home), **more}

    def start_again(self) -> None:
        """Empty the home but for what is installed."""
        made = self.home / "tutorial/.venv"
        if made.exists():
            made.rename(self.home / SPARE)
        for path in self.home.iterdir():
            if path.name not in KEPT:
                remove(path)
        remove(self.home / ".local/state")
        remove(self.home / "skills-runtime/demo-output")

    def bring_environment(self) -> None:
        """Give the tutorial the environment of the other language, in which pip has less to do."""
        if (self.home / SPARE).exists():
            (self.home / SPARE).rename(self.home / "tutorial/.venv")


def remove(path: Path) -> None:
    """Remove a file or a directory, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the files of this checkout, and Studio as it is built, like a source distribution."""
    subprocess.run([ROOT / "scripts/studio"], check=True, timeout=BUILD_SECONDS, cwd=ROOT, capture_output=True)
    root = tmp_path_factory.mktemp("repository")
    built = [path for path in (ROOT / BUILT).rglob("*") if path.is_file()]
    for path in (*project_files(), *built):
        target = root / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    identity = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.com")
    for arguments in (("init", "-q"), ("add", "--force", "."), ("commit", "-q", "-m", "Everything")):
        subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True, timeout=60)
    return root


@pytest.fixture(scope="session")
def stranger(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    """A user who has installed it with the first commands of the README."""
    home, commands = tmp_path_factory.mktemp("stranger"), tmp_path_factory.mktemp("commands")
    link_commands(commands)
    (commands / "python3").unlink(missing_ok=True)
    (commands / "python3").symlink_to(Path(sys.executable).resolve())
    stranger = Stranger(home, commands, str(repository))
    with open_shell(stranger.environment("C.UTF-8"), home) as shell:
        output = shell.run(install_commands().replace("URL", stranger.url), {})
    assert "not on your PATH" not in output
    assert "without Studio" not in output
    return stranger


def install_commands() -> str:
    """The first block of the README."""
    return next(steps_of(ROOT / "README.md")).code


@pytest.fixture(scope="module")
def model() -> Generator[ModelServer]:
    """The model that the reader has."""
    with documented_model.start() as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """Chromium; its driver ends with the file."""
    # Chromium does not start its own sandbox for an administrator.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
