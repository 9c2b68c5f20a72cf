"""Change one setting in the user's own configuration; nothing is written unless the whole file is valid afterwards."""

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skills_runtime.config.edit import has_value, set_value, unset_value
from skills_runtime.config.environment import config_home
from skills_runtime.config.files import (
    MODEL_FILE,
    lock_home,
    parse_mapping,
    path_exists,
    read_mapping,
    read_text,
    replace_file,
    resolve_path,
)
from skills_runtime.config.merge import ConfigSource, nest_value
from skills_runtime.config.models import Settings, iterate_keys
from skills_runtime.config.problems import Location, raise_problems, unknown_key
from skills_runtime.config.process import process_environ
from skills_runtime.config.resolution import USER_FILE, validate_source
from skills_runtime.storage import PRIVATE_FILE
from skills_runtime.text import printable


def set_user_setting(key: str, value: Any, environ: Mapping[str, str] | None = None) -> Path:
    """Set a value in the user's `config.yaml`, or in `model.yaml` if that sets it; return the changed file."""
    home = config_home(environ)
    _validate(nest_value(key, value), Location("given to `config set`"), home, environ)
    with lock_home(home):
        model_file = home / MODEL_FILE
        chosen: Mapping[str, Any] = read_mapping(model_file) if path_exists(model_file) else {}
        # `model` of that file would override `models.planner` and `models.executor` of the other one.
        is_model = has_value(chosen, key) or (key.startswith("models.") and has_value(chosen, "model"))
        path = resolve_path(model_file if is_model else home / USER_FILE, home)
        old = _read(path)
        _write(path, set_value(old, key, value, path), home, environ)
    return path


def unset_user_setting(key: str, environ: Mapping[str, str] | None = None) -> list[Path]:
    """Remove a setting from both files of the user; return the changed ones."""
    home = config_home(environ)
    changed: list[Path] = []
    with lock_home(home):
        for path in (resolve_path(home / name, home) for name in (USER_FILE, MODEL_FILE)):
            old = _read(path)
            if has_value(parse_mapping(old, path), key):
                _write(path, unset_value(old, key, path), home, environ)
                changed.append(path)
    if not changed and not any(known == key or known.startswith(f"{key}.") for known in iterate_keys(Settings)):
        raise_problems([unknown_key(key, Location("given to `config set`"))])
    return changed


def _read(path: Path) -> str:
    return read_text(path) if path_exists(path) else ""


def _write(path: Path, text: str, home: Path, environ: Mapping[str, str] | None) -> None:
    _validate(parse_mapping(text, path), Location(f"in `{printable(str(path))}`", text), home, environ)
    mode = stat.S_IMODE(path.stat().st_mode) if path_exists(path) else PRIVATE_FILE
    replace_file(path, text.encode(), mode=mode)


def _validate(data: Mapping[str, Any], location: Location, home: Path, environ: Mapping[str, str] | None) -> None:
    source = ConfigSource(data=data, label="user", location=location, base=home)
    _, problems = validate_source(source, process_environ(environ), home)
    if problems:
        raise_problems(problems)
