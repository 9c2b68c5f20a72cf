"""A workspace, a home directory and an environment of their own for every test."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.config import Defaults, Resolved, resolve
from skills_runtime.errors import ConfigError


@dataclass
class ConfigDirs:
    """The workspace, home directory and variables of a test."""

    root: Path
    home: Path
    variables: dict[str, str] = field(default_factory=dict[str, str])

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def write_user_file(self, text: str) -> Path:
        path = self.home / ".config/skills_runtime/config.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def resolve(
        self, *paths: str | Path, session: Mapping[str, Any] | None = None, defaults: Defaults | None = None
    ) -> Resolved:
        return resolve(
            self.root,
            config_paths=paths,
            session_settings=session,
            environ={"HOME": str(self.home), **self.variables},
            cwd=self.root,
            defaults=defaults,
        )

    def problems(self, *paths: str | Path, session: Mapping[str, Any] | None = None) -> list[str]:
        """Return all problems of the error that resolving must raise."""
        with pytest.raises(ConfigError) as caught:
            self.resolve(*paths, session=session)
        problems: list[str] = caught.value.details["problems"]
        assert problems[0] == caught.value.message
        assert caught.value.hint
        return problems


def _create_config_dirs(base: Path) -> ConfigDirs:
    root, home = base / "workspace", base / "home"
    root.mkdir(mode=0o755)
    home.mkdir(mode=0o755)
    return ConfigDirs(root.resolve(), home.resolve())


@pytest.fixture
def config_dirs(tmp_path: Path) -> ConfigDirs:
    return _create_config_dirs(tmp_path)


@pytest.fixture
def world_readable_dirs() -> Iterator[ConfigDirs]:
    """Directories that other users can read, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as base:
        Path(base).chmod(0o755)
        yield _create_config_dirs(Path(base))


@pytest.fixture
def unprivileged() -> Callable[[Callable[[], str]], str]:
    """Runs an action in a child process without privileges and returns what it answers."""
    return _as_nobody


def _as_nobody(action: Callable[[], str]) -> str:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            os.write(writer, action().encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as answers:
        text = answers.read().decode()
    os.waitpid(child, 0)
    return text
