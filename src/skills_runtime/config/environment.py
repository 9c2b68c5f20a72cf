"""The process environment and the `.env` file as one read-only value.

Nothing is ever written back to the process.
"""

import io
import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from skills_runtime.config.files import path_exists, read_text, resolve_path
from skills_runtime.config.process import process_environ
from skills_runtime.errors import ConfigError
from skills_runtime.text import printable

Trust = Literal["user", "project"]

ENV_FILE = "SKILLS_RUNTIME_SDK_ENV_FILE"
CONFIG_PATHS = "SKILLS_RUNTIME_SDK_CONFIG_PATHS"
KEYS_DIR = "SKILLS_RUNTIME_SDK_KEYS_DIR"
VARIABLES: Mapping[str, str] = {
    "SKILLS_RUNTIME_SDK_MODEL": "model",
    "SKILLS_RUNTIME_SDK_PLANNER_MODEL": "models.planner",
    "SKILLS_RUNTIME_SDK_EXECUTOR_MODEL": "models.executor",
    "SKILLS_RUNTIME_SDK_LLM_BACKEND": "llm.backend",
    "SKILLS_RUNTIME_SDK_LLM_BASE_URL": "llm.base_url",
    "SKILLS_RUNTIME_SDK_LLM_API_KEY_ENV": "llm.api_key_env",
}
"""The variables that set fields."""

_NO_DOTENV = "-"


@dataclass(frozen=True, slots=True)
class DotEnv:
    """The content of a `.env` file, and how far it is trusted."""

    path: Path | None = None
    values: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    trust: Trust = "project"
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Environment:
    """Variables of the process over those of the `.env` file; its repr never shows a value."""

    process: Mapping[str, str]
    dotenv: DotEnv = field(default_factory=DotEnv)
    stored: Mapping[str, str] = field(default_factory=dict[str, str])
    """Stored model keys of the user; they apply if nothing else sets the variable."""

    def get(self, name: str) -> str | None:
        """Return the value of a variable."""
        for values in (self.process, self.dotenv.values, self.stored):
            if name in values:
                return values[name]
        return None

    def origin(self, name: str) -> Literal["process", "dotenv", "stored"] | None:
        """Return where a variable comes from, or nothing if it is not set."""
        if name in self.process:
            return "process"
        if name in self.dotenv.values:
            return "dotenv"
        return "stored" if name in self.stored else None

    def trust(self, name: str) -> Trust:
        """Return how far a variable is trusted."""
        return self.dotenv.trust if self.origin(name) == "dotenv" else "user"

    def __repr__(self) -> str:
        return f"Environment({len(self.process)} of the process, {len(self.dotenv.values)} of a `.env` file)"


def without_dotenv(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment with reading `.env` files switched off."""
    return {**process_environ(environ), ENV_FILE: _NO_DOTENV}


def read_environment(root: Path, process: Mapping[str, str]) -> Environment:
    """Read the environment of a workspace: the process's variables over those of its `.env` file."""
    env_file = process.get(ENV_FILE, "")
    if env_file == _NO_DOTENV:
        return Environment(process)
    if env_file:
        requested = root / expand_home(env_file, process)
        path = resolve_path(requested, root)
        # A file inside the workspace is the project's, even if an exported variable names it.
        inside = path.is_relative_to(root) or Path(os.path.normpath(requested)).is_relative_to(root)
        return Environment(process, _parse_dotenv(path, "project" if inside else "user"))
    if path_exists(root / ".env"):
        return Environment(process, _parse_dotenv(resolve_path(".env", root), "project"))
    return Environment(process)


def _parse_dotenv(path: Path, trust: Trust) -> DotEnv:
    from dotenv.parser import parse_stream  # most workspaces have no `.env`

    bindings = list(parse_stream(io.StringIO(read_text(path))))
    return DotEnv(
        path=path,
        values={
            binding.key: binding.value for binding in bindings if binding.key is not None and binding.value is not None
        },
        trust=trust,
        notices=tuple(
            f"line {binding.original.line} of `{printable(str(path))}` was ignored: it is not `NAME=value`"
            for binding in bindings
            if binding.error
        ),
    )


def home(environ: Mapping[str, str]) -> Path:
    """Return the user's home directory."""
    home_variable = environ.get("HOME", "")
    if Path(home_variable).is_absolute():
        return Path(home_variable)
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        raise ConfigError("this user has no home directory", hint="set `HOME` to an absolute path") from None


def expand_home(path: str | os.PathLike[str], environ: Mapping[str, str]) -> Path:
    """Replace a leading `~/` by the home directory."""
    parts = Path(path).parts
    return home(environ).joinpath(*parts[1:]) if parts[:1] == ("~",) else Path(path)


def config_home(environ: Mapping[str, str] | None = None) -> Path:
    """Return the directory of the user's configuration."""
    return _xdg("XDG_CONFIG_HOME", ".config", process_environ(environ))


def state_home(environ: Mapping[str, str] | None = None) -> Path:
    """Return the directory of persistent state: keys and the ledger."""
    return _xdg("XDG_STATE_HOME", ".local/state", process_environ(environ))


def keys_home(environ: Mapping[str, str] | None = None) -> Path:
    """Return the directory of the keys that sign logs; machines that share runs may share it."""
    process = process_environ(environ)
    keys_dir = process.get(KEYS_DIR, "")
    if keys_dir and not Path(keys_dir).is_absolute():
        raise ConfigError(f"`{KEYS_DIR}` must be an absolute path", hint="name the directory that holds the keys")
    return Path(keys_dir) if keys_dir else state_home(process) / "keys"


def _xdg(variable: str, fallback: str, process: Mapping[str, str]) -> Path:
    # Only the process's own variables count: a project's `.env` must not move the user's directories.
    directory = process.get(variable, "")
    return (Path(directory) if Path(directory).is_absolute() else home(process) / fallback) / "skills_runtime"
