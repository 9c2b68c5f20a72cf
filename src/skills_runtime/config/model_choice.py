"""The model somebody chose in one place for all their work: a small file of settings, and a private one with keys.

The settings stand beside the user's own `config.yaml`, which stays as its user wrote it, and count just above it.
"""

import json
import os
import stat
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

import yaml

from skills_runtime.config.files import read_mapping
from skills_runtime.config.secrets import is_variable_name
from skills_runtime.errors import AccessRefused, ConfigError, StorageFailed, ValidationFailed
from skills_runtime.storage.files import explain_write, write_atomic
from skills_runtime.storage.locks import lock_directory
from skills_runtime.text import printable

CHOICE = "model.yaml"
KEYS = "model-keys.json"
KEY_VARIABLE = "SKILLS_RUNTIME_MODEL_KEY"
"""What a key is called that was given without a name of its own."""
MAX_KEY_CHARS = 4096
_MAX_BYTES = 65_536
_OURS = "SKILLS_RUNTIME_SDK_"
"""How variables begin that set something; a key must not be one of them."""
_HEAD = (
    "# The model chosen in Studio or over HTTP; what your config.yaml says counts less, a project's files count more.\n"
)


def choose_model(home: Path, *, base_url: str | None, model: str | None, api_key_env: str | None) -> Path:
    """Change what is given and keep the rest; `home` is the directory of the user's configuration."""
    path, chosen = home / CHOICE, as_settings(base_url=base_url, model=model, api_key_env=api_key_env)
    with _alone(home):
        data = cast("dict[str, Any]", json.loads(json.dumps(read_mapping(path)))) if path.is_file() else {}
        for section, given in chosen.items():
            data[section] = {**data.get(section, {}), **given}
        text = yaml.dump(data, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=True)
        _write(path, (_HEAD + text).encode())
    return path


def as_settings(*, base_url: str | None, model: str | None, api_key_env: str | None) -> dict[str, dict[str, str]]:
    """What is given of a choice, as settings."""
    llm = {"base_url": base_url, "api_key_env": api_key_env}
    models = {"planner": model, "executor": model}
    if base_url is not None or api_key_env is not None:
        llm["backend"] = "openai"
    known = {
        section: {name: value for name, value in given.items() if value is not None}
        for section, given in (("llm", llm), ("models", models))
    }
    return {section: given for section, given in known.items() if given}


def stored_keys(home: Path) -> Mapping[str, str]:
    """The keys that were stored, by the names of their variables; a file that others can read is refused."""
    path = home / KEYS
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise AccessRefused(
            f"`{printable(str(path))}` cannot be read: {error.strerror}", hint="it must be a file of yours"
        ) from error
    with open(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o077:
            raise AccessRefused(
                f"`{printable(str(path))}` is not a private file of this user", hint="chmod 600 it, or remove it"
            )
        data = file.read(_MAX_BYTES)
    try:
        found = cast("dict[str, Any]", json.loads(data))
        return {str(name): value for name, value in found.items() if isinstance(value, str)}
    except (ValueError, AttributeError):
        hint = "remove it, and store the key again"
        raise ConfigError(f"`{printable(str(path))}` is damaged", hint=hint) from None


def store_key(home: Path, name: str, key: str) -> None:
    """Keep a key under the name of a variable, in a file that only this user can read."""
    if not is_variable_name(name) or name.startswith(_OURS):
        raise ValidationFailed("this is not the name of a variable for a key", hint="such as `OPENAI_API_KEY`")
    plain = key.strip()
    if not plain or len(plain) > MAX_KEY_CHARS or not plain.isascii() or not plain.isprintable() or " " in plain:
        raise ValidationFailed("this is not a key", hint="a key has no spaces and only ASCII characters")
    with _alone(home):
        data = json.dumps({**stored_keys(home), name: plain}).encode()
        if len(data) > _MAX_BYTES:  # a file that is too long to be read whole would be of no use to anybody
            raise ValidationFailed("too many keys are stored", hint="remove one that is not needed any more")
        _write(home / KEYS, data)


def forget_key(home: Path, name: str) -> bool:
    """Remove a stored key; false where there was none."""
    with _alone(home):
        known = dict(stored_keys(home))
        if known.pop(name, None) is None:
            return False
        _write(home / KEYS, json.dumps(known).encode())
    return True


@contextmanager
def _alone(home: Path) -> Generator[None]:
    """Keep everybody else from changing these files meanwhile, so that no change is lost."""
    with ExitStack() as stack:
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            stack.enter_context(lock_directory(home))
        except OSError as error:
            raise StorageFailed(f"`{printable(str(home))}` cannot be used: {error.strerror}") from error
        yield


def _write(path: Path, data: bytes) -> None:
    """Replace a file at once; nobody else can read it, not even while it is made."""
    with explain_write(printable(str(path))):
        write_atomic(path, data)
